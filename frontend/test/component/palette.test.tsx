import { act, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { keys, queryClient } from '@/api/queries'
import Palette from '@/features/palette/Palette'
import { getLang, setLang, t } from '@/lib/i18n'
import { getTheme, setTheme } from '@/lib/theme'
import { updateThread } from '@/stores/live'
import { useUi } from '@/stores/ui'
import { emptyThread } from '@/thread/model'
import { Page } from '../commands'
import { serve } from '../fetch'
import { approval } from '../unit/approvals'

function show(path = '/', rag_mode: boolean | null = true) {
  history.replaceState(null, '', path)
  queryClient.removeQueries({ queryKey: keys.status })
  if (rag_mode !== null) queryClient.setQueryData(keys.status, { rag_mode })
  useUi.setState({ dialog: { name: 'palette' } })
  return render(
    <Page sessionId={path.split('/')[2] ?? null}>
      <Palette only={null} />
    </Page>,
  )
}
const field = () => screen.getByRole('combobox')
const active = () => screen.getByRole('option', { selected: true }).textContent
function find(text: string): string[] {
  fireEvent.change(field(), { target: { value: text } })
  return screen.queryAllByRole('option').map(option => option.textContent)
}

const asked: string[] = []
beforeEach(() => {
  asked.length = 0
  queryClient.clear()
  queryClient.setDefaultOptions({ queries: { staleTime: Number.POSITIVE_INFINITY, retry: false } })
  serve(({ path, body }) => {
    asked.push(`${path} ${body === undefined ? '' : JSON.stringify(body)}`)
    return [200, { sessions: [], files: [] }]
  })
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  useUi.setState({ dialog: null })
})
const settle = () => act(async () => void (await vi.runAllTimersAsync()))
async function choose(text: string) {
  expect(find(text).length).toBeGreaterThan(0)
  fireEvent.keyDown(field(), { key: 'Enter' })
  await settle()
}

it('Enter, arrows and Esc belong to the input method while it composes', async () => {
  show()
  const first = active()
  fireEvent.keyDown(field(), { key: 'ArrowDown', keyCode: 229 })
  fireEvent.keyDown(field(), { key: 'ArrowDown', isComposing: true })
  fireEvent.keyDown(field(), { key: 'Enter', keyCode: 229 })
  fireEvent.compositionStart(field())
  for (const key of ['ArrowDown', 'ArrowUp', 'Enter', 'Escape']) fireEvent.keyDown(field(), { key })
  fireEvent.compositionEnd(field())
  // Safari fires the end of the composition before the keydown that caused it.
  for (const key of ['Enter', 'Escape']) fireEvent.keyDown(field(), { key })
  expect(active()).toBe(first)
  expect(useUi.getState().dialog?.name).toBe('palette')
  await settle()
  fireEvent.keyDown(field(), { key: 'ArrowDown' })
  expect(active()).not.toBe(first)
  fireEvent.keyDown(field(), { key: 'Escape' })
  expect(useUi.getState().dialog).toBeNull()
})

it('a command that depends on a change appears with it', () => {
  show('/')
  expect(find(t('allowOldest'))).toEqual([])
  act(() => queryClient.setQueryData(keys.approvals, [approval()]))
  expect(find(t('allowOldest'))).toHaveLength(1)
})

it('a run is stopped from the palette, in the conversation that is open', async () => {
  const run = { ...emptyThread('abc'), running: { workId: 'w1' } }
  updateThread('abc', () => ({ phase: 'ready', thread: run }))
  const { unmount } = show('/s/other')
  expect(find(t('stopWork'))).toEqual([])
  unmount()
  show('/s/abc')
  await choose(t('stopWork'))
  expect(asked).toContainEqual(expect.stringMatching(/^\/api\/sessions\/abc\/interrupt/))
  updateThread('abc', () => undefined)
})

it('an open conversation can be compacted and exported', async () => {
  const { unmount } = show('/s/abc/m/m1')
  expect(find('export')).toEqual(['Export as Markdown', 'Export as JSON'])
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(() => {})
  await choose('export json')
  expect(asked).toContain('/api/sessions/abc/export?format=json ')
  await choose('compact')
  expect(useUi.getState().dialog?.name).toBe('compress')
  unmount()
  show('/')
  expect(find('export')).toEqual([])
  expect(find('compact')).toEqual([])
})

it('usage, theme and language are one command away', async () => {
  show()
  await choose('token usage')
  expect(useUi.getState().dialog?.name).toBe('usage')
  expect(find('theme')).toEqual(['Theme: Light', 'Theme: Dark', 'Theme: System'])
  await choose('theme dark')
  expect(getTheme()).toBe('dark')
  setTheme('system')
  await choose('language')
  expect(getLang()).toBe('zh')
  expect(find('主题')).toHaveLength(3)
  await act(() => setLang('en'))
})

it('the retrieval command switches to the opposite state', async () => {
  const { unmount } = show('/', true)
  expect(find('memory retrieval')).toEqual(['Turn off memory retrieval'])
  await choose('memory retrieval')
  expect(asked.some(line => line.includes('"enabled":false'))).toBe(true)
  unmount()
  const off = show('/', false)
  expect(find('memory retrieval')).toEqual(['Turn on memory retrieval'])
  off.unmount()
  show('/', null)
  expect(find('memory retrieval')).toEqual([])
})
