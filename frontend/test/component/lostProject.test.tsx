import { act, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeEach, expect, it, vi } from 'vitest'
import { peopleKeys } from '@/api/multi'
import { keys, queryClient } from '@/api/queries'
import { edit, open } from '@/features/editor/actions'
import { EditorPane } from '@/features/editor/EditorPane'
import { EditorTabs } from '@/features/editor/EditorTabs'
import '@/features/editor/LostProject'
import '@/features/editor/OpenEditor'
import { useTabs } from '@/features/editor/tabs'
import { nameProjects } from '@/lib/roots'
import { useBuffers } from '@/stores/buffers'
import { dismiss, useToasts } from '@/stores/toasts'
import { openFile, useUi } from '@/stores/ui'
import { Page } from '../commands'
import { serve } from '../fetch'
import { file } from '../file'

const tea = file('project/tea/leaves.txt')
const TEA = { id: 'tea', name: 'Tea', owner: 'ann', role: 'editor' }
let disk: string | null

beforeEach(() => {
  vi.restoreAllMocks()
  queryClient.clear()
  queryClient.setQueryData(peopleKeys.mode, { auth_mode: 'multi' })
  queryClient.setQueryData(keys.projects, [TEA])
  nameProjects([TEA])
  useUi.setState({ file: null })
  useTabs.setState({ tabs: [] })
  useBuffers.setState({ files: {} })
  for (const { id } of useToasts.getState().list) dismiss(id)
  disk = 'green'
  serve(({ method, path }) =>
    method === 'GET' && path.startsWith('/api/files') && disk !== null
      ? [200, { content: disk, etag: `"${disk}"`, tokens: 1 }]
      : [404, { code: 'not_found', message: 'no' }],
  )
})

function Editor() {
  const shown = useUi(ui => ui.file)
  const state = useBuffers(s => (shown ? s.files[`${shown}`] : undefined))
  return (
    <>
      <EditorTabs />
      <EditorPane file={shown} state={state} comparing={null} reveal={null} untrusted={false} />
    </>
  )
}

async function shown() {
  render(<Editor />, { wrapper: Page })
  await act(async () => {
    openFile(tea)
    await open(tea)
  })
  await screen.findByRole('textbox', { name: 'Content of Tea/leaves.txt' })
}
const goes = () => act(async () => queryClient.setQueryData(keys.projects, []))
const comes = () => act(async () => queryClient.setQueryData(keys.projects, [TEA]))
const tab = () => screen.getByRole('tab').getAttribute('aria-label')

it('an open file says at once that its project is no longer shared, and is closed', async () => {
  await shown()
  expect(screen.queryByRole('alert')).toBeNull()
  await goes()
  const alert = await screen.findByRole('alert')
  expect(alert.textContent).toContain('This project was deleted or is no longer shared with you.')
  expect(alert.textContent).not.toContain('unsaved')
  expect(tab()).toBe('leaves.txt (project not available)')
  await userEvent.click(screen.getByRole('button', { name: 'Close file' }))
  expect(screen.queryByRole('tab')).toBeNull()
  expect(useToasts.getState().list).toEqual([])
})

it('edits for a project that is gone are copied or downloaded, and come back after they were discarded', async () => {
  await shown()
  await act(async () => edit(tea, 'green and black'))
  await goes()
  expect((await screen.findByRole('alert')).textContent).toContain(
    'Your unsaved changes can’t be saved to it',
  )
  expect(screen.queryByRole('button', { name: 'Save' })).toBeNull()
  const written = vi.spyOn(navigator.clipboard, 'writeText').mockResolvedValue()
  await userEvent.click(screen.getByRole('button', { name: 'Copy text' }))
  expect(written).toHaveBeenCalledWith('green and black')
  const names: string[] = []
  const blobs: Blob[] = []
  vi.spyOn(URL, 'createObjectURL').mockImplementation(blob => {
    blobs.push(blob as Blob)
    return 'blob:x'
  })
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (this: HTMLAnchorElement) {
    names.push(this.download)
  })
  await userEvent.click(screen.getByRole('button', { name: 'Download' }))
  expect(names).toEqual(['leaves.txt'])
  expect(await blobs[0]?.text()).toBe('green and black')

  await userEvent.click(screen.getByRole('button', { name: 'Discard and close' }))
  expect(screen.queryByRole('tab')).toBeNull()
  const [told] = useToasts.getState().list
  expect(told?.text).toBe('Closed Tea/leaves.txt and discarded its unsaved changes.')
  await act(async () => told?.action?.run())
  expect(useBuffers.getState().files[`${tea}`]).toMatchObject({ buffer: { text: 'green and black' } })
  expect(await screen.findByRole('alert')).toBeTruthy()
})

it('a file is read again when its project comes back', async () => {
  await shown()
  await goes()
  await screen.findByRole('alert')
  disk = 'white'
  await comes()
  await waitFor(() =>
    expect(useBuffers.getState().files[`${tea}`]).toMatchObject({ buffer: { text: 'white' } }),
  )
  expect(screen.queryByRole('alert')).toBeNull()
})

it('a tab of the last visit says it too, and one person is not told of sharing', async () => {
  queryClient.setQueryData(peopleKeys.mode, { auth_mode: 'single' })
  disk = null
  queryClient.setQueryData(keys.projects, [])
  render(<Editor />, { wrapper: Page })
  await act(async () => {
    openFile(tea)
    await open(tea)
  })
  expect((await screen.findByRole('alert')).textContent).toContain('This project was deleted.')
  await userEvent.click(screen.getByRole('button', { name: 'Close file' }))
  expect(screen.queryByRole('tab')).toBeNull()
})
