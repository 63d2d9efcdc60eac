import { act, fireEvent, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeEach, expect, it, vi } from 'vitest'
import { discard, open, rename } from '@/features/editor/actions'
import { EditorTabs } from '@/features/editor/EditorTabs'
import { closeTab, MOST_TABS, namesOf, useTabs } from '@/features/editor/tabs'
import type { FileRef } from '@/lib/roots'
import { bufferOf, dispatchBuffer, openFileOf, useBuffers } from '@/stores/buffers'
import { useToasts } from '@/stores/toasts'
import { openFile, useUi } from '@/stores/ui'
import { Page } from '../commands'
import { serve } from '../fetch'
import { file } from '../file'

const [a, b, c] = [file('workspace/a.md'), file('workspace/b.md'), file('workspace/c.md')]

beforeEach(() => {
  useUi.setState({ file: null })
  useTabs.setState({ tabs: [] })
  useBuffers.setState({ files: {} })
  serve(({ method }) =>
    method === 'GET' ? [200, { content: 'one', etag: '"1"', tokens: 1 }] : [200, { path: '', etag: '"1"' }],
  )
})

async function show(...files: FileRef[]) {
  for (const one of files) {
    await act(async () => {
      openFile(one)
      await open(one)
    })
  }
}
const names = () => screen.getAllByRole('tab').map(tab => tab.getAttribute('aria-label'))
const selected = () => screen.getByRole('tab', { selected: true }).getAttribute('aria-label')
const kept = () => JSON.parse(localStorage.getItem('mc:owner:fileTabs') ?? '')

it('opened files have a tab each, and are stored', async () => {
  render(<EditorTabs />, { wrapper: Page })
  await show(a, b, a)
  expect(names()).toEqual(['a.md', 'b.md'])
  expect(selected()).toBe('a.md')
  const tabs = ['workspace/a.md', 'workspace/b.md']
  expect(kept()).toEqual({ tabs, shown: 'workspace/a.md', folder: 'workspace' })
  act(() => useUi.setState({ tab: 'skills' }))
  expect(kept()).toEqual({ tabs, shown: 'workspace/a.md', folder: 'skills' })
})

it('stored tabs come back, and what is no file does not', async () => {
  const tabs = ['workspace/a.md', 7, '../etc/passwd', 'workspace/a.md', 'memory/x.md']
  localStorage.setItem('mc:owner:fileTabs', JSON.stringify({ tabs, shown: 'memory/x.md' }))
  vi.resetModules()
  const fresh = await import('@/features/editor/tabs')
  expect(fresh.useTabs.getState().tabs.map(String)).toEqual(['workspace/a.md', 'memory/x.md'])
  expect(`${(await import('@/stores/ui')).useUi.getState().file}`).toBe('memory/x.md')
})

it.each([
  ['that of the file', {}, null, 'knowledge'],
  ['the one that a person chose beside it', { folder: 'skills' }, null, 'skills'],
  ['that of the file, if the stored one is no folder', { folder: '../etc' }, null, 'knowledge'],
  ['what is shown already', {}, 'memory', 'memory'],
])('with a stored file, the folder is %s', async (_, stored, shown, folder) => {
  const tabs = ['knowledge/tea.md']
  localStorage.setItem('mc:owner:fileTabs', JSON.stringify({ tabs, shown: tabs[0], ...stored }))
  vi.resetModules()
  const { useUi: ui } = await import('@/stores/ui')
  ui.setState({ tab: shown })
  await import('@/features/editor/tabs')
  expect(ui.getState()).toMatchObject({ tab: folder })
  expect(`${ui.getState().file}`).toBe('knowledge/tea.md')
})

it('a closed tab gives its place to the next, and drops a text without edits', async () => {
  render(<EditorTabs />, { wrapper: Page })
  await show(a, b, c, b)
  fireEvent(
    screen.getByRole('tab', { name: 'b.md' }),
    new MouseEvent('auxclick', { bubbles: true, button: 1 }),
  )
  expect(names()).toEqual(['a.md', 'c.md'])
  expect(selected()).toBe('c.md')
  expect(openFileOf(b)).toBeUndefined()
})

it('edits survive the closing of their tab', async () => {
  render(<EditorTabs />, { wrapper: Page })
  await show(a, b)
  act(() => dispatchBuffer(b, { type: 'edited', text: 'two' }))
  expect(names()).toEqual(['a.md', 'b.md (Unsaved)'])
  act(() => closeTab(b))
  expect(names()).toEqual(['a.md'])
  expect(bufferOf(b)?.text).toBe('two')
  const toast = useToasts.getState().list.at(-1)
  act(() => toast?.action?.run())
  expect(names()).toEqual(['a.md', 'b.md (Unsaved)'])
})

it('a renamed file keeps its place, a deleted one is marked', async () => {
  render(<EditorTabs />, { wrapper: Page })
  await show(a, b, c)
  await act(async () => {
    expect(await rename(a, file('workspace/z.md'))).toBeNull()
  })
  expect(names()).toEqual(['z.md', 'b.md', 'c.md'])
  act(() => dispatchBuffer(b, { type: 'disk_deleted' }))
  expect(names()).toEqual(['z.md', 'b.md (Deleted on disk)', 'c.md'])
})

it('a tab that was not shown since the reload follows its file too', async () => {
  const z = file('workspace/z.md')
  useTabs.setState({ tabs: [a, b, c] })
  expect(await rename(a, z)).toBeNull()
  expect(useTabs.getState().tabs).toEqual([z, b, c])
  serve(() => [200, { trash: 't' }])
  await discard(b, '"1"')
  expect(useTabs.getState().tabs).toEqual([z, c])
})

it('arrow keys move, Delete closes, and one tab is in the tab order', async () => {
  render(<EditorTabs />, { wrapper: Page })
  await show(a, b, c)
  screen.getByRole('tab', { name: 'c.md' }).focus()
  await userEvent.keyboard('{ArrowRight}')
  expect(selected()).toBe('a.md')
  expect(document.activeElement?.getAttribute('aria-label')).toBe('a.md')
  await userEvent.keyboard('{End}{Delete}')
  expect(names()).toEqual(['a.md', 'b.md'])
  expect(screen.getAllByRole('tab').filter(tab => tab.tabIndex === 0)).toHaveLength(1)
})

it('there are at most so many tabs, and those with edits stay', async () => {
  render(<EditorTabs />, { wrapper: Page })
  await show(a)
  act(() => dispatchBuffer(a, { type: 'edited', text: 'two' }))
  for (let n = 0; n < MOST_TABS; n++) await show(file(`workspace/n${n}.md`))
  expect(names()).toHaveLength(MOST_TABS)
  expect(names()[0]).toBe('a.md (Unsaved)')
  expect(names()[1]).toBe('n1.md')
})

it('files of the same name are told apart by their folder', () => {
  const tabs = ['skills/a/SKILL.md', 'memory/x.md', 'workspace/x.md', 'memory/y.md'].map(file)
  expect(namesOf(tabs)).toEqual(['a/SKILL.md', 'memory/x.md', 'workspace/x.md', 'y.md'])
})

it('files of projects are told apart by the name of their project, as soon as it is known', async () => {
  const project = { id: 'p7', user_id: 1, name: 'Garden', path: 'Garden', role: 'owner', owner: 'default' }
  serve(({ path }) => [
    200,
    path.startsWith('/api/projects') ? { code: 0, data: { items: [project], has_more: false } } : {},
  ])
  useTabs.setState({ tabs: ['project/p7/notes.md', 'memory/notes.md'].map(file) })
  render(<EditorTabs />, { wrapper: Page })
  await vi.waitFor(() => expect(names()).toEqual(['Garden/notes.md', 'memory/notes.md']))
})
