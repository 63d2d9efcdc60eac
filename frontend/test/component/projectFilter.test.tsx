import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeEach, expect, it, vi } from 'vitest'
import { keys, queryClient } from '@/api/queries'
import { ProjectFilter } from '@/features/sessions/ProjectFilter'
import '@/features/sessions/ProjectFilterList'
import { useProject } from '@/stores/project'
import { useUi } from '@/stores/ui'
import { Page } from '../commands'
import { serve } from '../fetch'

beforeEach(() => {
  vi.unstubAllGlobals()
  queryClient.clear()
  useProject.setState({ id: null })
  useUi.setState({ dialog: null })
  serve(() => [200, { code: 0, data: { items: [], has_more: false } }])
})

it('without a project, the selector leads to the dialog for a new one', async () => {
  queryClient.setQueryData(keys.projects, [])
  render(<ProjectFilter />, { wrapper: Page })
  await userEvent.click(screen.getByRole('button', { name: 'Project: All conversations' }))
  await userEvent.click(await screen.findByRole('button', { name: 'New project' }))
  expect(useUi.getState().dialog).toEqual({ name: 'projects', begin: 'new' })
  expect(screen.queryByRole('listbox')).toBeNull()
})

it('a chosen project that is gone gives way to all conversations', () => {
  queryClient.setQueryData(keys.projects, [])
  useProject.setState({ id: 'tea' })
  render(<ProjectFilter />, { wrapper: Page })
  expect(screen.getByRole('button', { name: 'Project: All conversations' })).toBeTruthy()
  expect(useProject.getState().id).toBeNull()
})
