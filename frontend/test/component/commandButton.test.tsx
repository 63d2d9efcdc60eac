import { act, fireEvent, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, expect, it, vi } from 'vitest'
import { queryClient } from '@/api/queries'
import { useChords } from '@/app/chords'
import { CommandButton, CommandIconButton } from '@/components/CommandButton'
import { CommandMenuItem } from '@/components/CommandMenuItem'
import { ForSession } from '@/components/ForSession'
import { Button } from '@/components/ui/Button'
import { Menu } from '@/components/ui/Menu'
import { openBuffer } from '@/features/editor/buffer'
import { EditorBar } from '@/features/editor/EditorBar'
import { SidebarActions } from '@/features/sessions/SidebarActions'
import { t } from '@/lib/i18n'
import { putFile, useBuffers } from '@/stores/buffers'
import { useUi } from '@/stores/ui'
import { Page } from '../commands'
import { file } from '../file'

afterEach(() => {
  queryClient.clear()
  useChords.setState({ chosen: {} })
  useUi.setState({ dialog: null, file: null })
  useBuffers.setState({ files: {}, comparing: null })
  vi.unstubAllGlobals()
})

it('shows the shortcut that the person has chosen', () => {
  render(<SidebarActions onChoose={() => {}} />, { wrapper: Page })
  const search = screen.getByRole('button', { name: new RegExp(t('search')) })
  expect(search.title).toBe(`${t('palette')} (Ctrl K)`)
  expect(search.querySelector('kbd')?.textContent).toBe('Ctrl K')
  act(() => useChords.setState({ chosen: { palette: { code: 'KeyJ', mod: true } } }))
  expect(search.title).toBe(`${t('palette')} (Ctrl J)`)
  expect(search.querySelector('kbd')?.textContent).toBe('Ctrl J')
  act(() => useChords.setState({ chosen: { palette: null } }))
  expect([search.title, search.querySelector('kbd')]).toEqual(['', null])
  fireEvent.click(search)
  expect(useUi.getState().dialog?.name).toBe('palette')
})

it('is disabled while its command is', () => {
  const buttons = (
    <>
      <CommandButton command="compress">compact</CommandButton>
      <CommandIconButton command="usage">icon</CommandIconButton>
    </>
  )
  const { rerender } = render(<Page>{buttons}</Page>)
  expect(screen.getByText('compact')).toHaveProperty('disabled', true)
  expect(screen.getByRole('button', { name: t('usage') })).toHaveProperty('disabled', false)
  rerender(<Page sessionId="s1">{buttons}</Page>)
  expect(screen.getByText('compact')).toHaveProperty('disabled', false)
})

it('follows the state that its command reads', () => {
  const notes = file('memory/a.md')
  const buffer = { ...openBuffer(notes, 'one', 'e1', 1), text: 'two', state: { kind: 'dirty' as const } }
  render(<EditorBar buffer={buffer} comparing={false} tokensBelow={false} view={null} />, { wrapper: Page })
  const save = screen.getByRole('button', { name: t('save') })
  expect(save).toHaveProperty('disabled', true)
  act(() => {
    putFile(notes, { phase: 'open', buffer })
    useUi.setState({ file: notes })
  })
  expect(save).toHaveProperty('disabled', false)
  expect(save.title).toContain('Ctrl S')
  expect(screen.getByRole('button', { name: t('compareBeforeSave') }).title).toContain('Alt D')
})

it('a menu offers only enabled commands, for its own session', async () => {
  const menu = (inside: React.ReactNode) => (
    <Page>
      <main>
        <Menu trigger={<Button>more</Button>}>{inside}</Menu>
      </main>
    </Page>
  )
  const item = <CommandMenuItem command="compress" icon={null} />
  const { rerender } = render(menu(item))
  await userEvent.click(screen.getByText('more'))
  expect((await screen.findByRole('menu')).textContent).toBe('')
  rerender(menu(<ForSession sessionId="s1">{item}</ForSession>))
  fireEvent.click(screen.getByRole('menuitem', { name: t('compress') }))
  expect(useUi.getState().dialog?.name).toBe('compress')
})
