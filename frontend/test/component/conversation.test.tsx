import { act, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { SentFiles } from '@/features/attach/SentFiles'
import ViewFile from '@/features/attach/ViewFile'
import { chainWords } from '@/features/chat/chainWords'
import { copyRich, htmlOf } from '@/features/chat/copyRich'
import { rowsOf } from '@/features/chat/rows'
import { dayBegun } from '@/features/chat/Times'
import { setLang, t, translate } from '@/lib/i18n'
import { useUi } from '@/stores/ui'
import type { Step, Thread, UserEntry } from '@/thread/model'
import { emptyThread } from '@/thread/model'
import { Page } from '../commands'

let made = 0
const step = (tool: string, given: unknown = {}, status: Step['status'] = 'done'): Step => ({
  ...{ id: `c${++made}`, tool, input: '', arguments: given, output: '', result: undefined },
  ...{ status, durationMs: null, verdict: null, undone: false },
})

describe('the words of a folded chain', () => {
  const steps = [
    ...['a', 'b', 'a'].map(path => step('read_file', { path })),
    step('terminal'),
    step('terminal'),
    step('mcp_weather'),
    step('terminal', {}, 'denied'),
    step('delete_file', {}, 'error'),
  ]
  it('name what ran, each file once, and nothing that did not', () => {
    expect(chainWords(steps, t)).toBe('Read 2 files, ran 2 commands, used mcp_weather')
    expect(chainWords([step('read_file'), step('fetch_url'), step('python_repl')], t)).toBe(
      'Read 1 file, fetched 1 page, ran Python once',
    )
    expect(chainWords([step('terminal', {}, 'denied')], t)).toBe('')
    // A tool can be named like a property of every object, or like a text of the page.
    expect(chainWords([step('constructor'), step('didRun')], t)).toBe('Used constructor, ran 1 command')
  })
  it('are Chinese in the Chinese page', async () => {
    await setLang('zh')
    expect(chainWords(steps, (key, vars) => translate('zh', key, vars))).toBe(
      '读取 2 个文件，运行 2 条命令，使用 mcp_weather 1 次',
    )
    await setLang('en')
  })
})

describe('days', () => {
  const at = (text: string) => new Date(text).getTime() / 1000
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'] })
    vi.setSystemTime(new Date('2026-03-10T12:00:00'))
  })
  afterEach(() => vi.useRealTimers())
  it('are named where a new one begins', () => {
    const day = (now: string, before: string | null) =>
      dayBegun(at(now), before === null ? null : at(before), 'en', t)
    expect(day('2026-03-10T09:00:00', null)).toBeNull()
    expect(day('2026-03-10T09:00:00', '2026-03-10T01:00:00')).toBeNull()
    expect(day('2026-03-10T00:01:00', '2026-03-09T23:59:00')).toBe('Today')
    expect(day('2026-03-09T09:00:00', null)).toBe('Yesterday')
    expect(day('2026-02-01T09:00:00', '2026-01-31T09:00:00')).toContain('2026')
  })
  it('stand in the row of their first message, whose estimate includes them', () => {
    const user = (id: string, createdAt: number): UserEntry => ({
      ...{ kind: 'user', id, workId: id, content: 'x', attachments: [], createdAt },
    })
    const thread: Thread = {
      ...emptyThread('s'),
      entries: [user('a', at('2026-03-09T09:00:00')), user('b', at('2026-03-10T09:00:00'))],
    }
    const rows = rowsOf(thread, [], {} as Parameters<typeof rowsOf>[2], t)
    render(
      <Page>
        {rows.map(row => (
          <div key={row.key}>{row.body}</div>
        ))}
      </Page>,
    )
    expect(screen.getByText('Yesterday')).toBeTruthy()
    expect(screen.getByText('Today')).toBeTruthy()
    expect(rows).toHaveLength(2)
    expect(document.querySelectorAll('time')).toHaveLength(2)
    const [plain] = rowsOf({ ...thread, entries: [user('c', at('2026-03-10T09:00:00'))] }, [], {} as never, t)
    expect(rows[0]?.estimate).toBeGreaterThan(plain?.estimate ?? 0)
  })
})

describe('copying as rich text', () => {
  const TEXT =
    '# A *b*\n\n<script>alert(1)</script>\n\n- [x](https://a.example)\n- [y](javascript:1)\n\n```js\nlet a = "<b>"\n```\n'
  it('keeps structure, and nothing that runs or belongs to the page', () => {
    const html = htmlOf(TEXT)
    const box = document.createElement('div')
    box.innerHTML = html
    expect(box.querySelector('em')?.textContent).toBe('b')
    expect(box.querySelector('pre code')?.textContent).toContain('let a = "<b>"')
    expect([...box.querySelectorAll('a')].map(a => a.getAttribute('href'))).toEqual(['https://a.example'])
    expect(box.querySelector('script, button, svg, [class], [style]')).toBeNull()
    expect(box.textContent).toContain('<script>alert(1)</script>')
  })
  it('puts both forms on the clipboard, or the plain text where it cannot', async () => {
    const write = vi.fn(async (_: unknown) => {})
    const writeText = vi.fn(async (_: string) => {})
    vi.stubGlobal('navigator', { clipboard: { write, writeText } })
    vi.stubGlobal(
      'ClipboardItem',
      class {
        constructor(readonly parts: Record<string, Blob>) {}
      },
    )
    expect(await copyRich(TEXT)).toBe(true)
    const [[item]] = write.mock.calls[0] as unknown as [[{ parts: Record<string, Blob> }]]
    expect(await item.parts['text/plain']?.text()).toBe(TEXT)
    expect(await item.parts['text/html']?.text()).toContain('<em>b</em>')
    vi.stubGlobal('ClipboardItem', undefined)
    expect(await copyRich(TEXT)).toBe(true)
    expect(writeText).toHaveBeenCalledWith(TEXT)
    vi.unstubAllGlobals()
  })
})

it('a picture enlarges by buttons, keys and the wheel', async () => {
  const picture = { type: 'image/png', kept: null, bytes: 9, width: 400, height: 300 }
  const file = { name: 'a.png', extension: 'png', content: '', picture }
  render(<ViewFile file={file} onClose={() => {}} />)
  const scale = () => screen.getByRole('status').textContent
  await userEvent.click(screen.getByRole('button', { name: 'Zoom in' }))
  expect(scale()).toBe('150 %')
  screen.getByRole('region', { name: 'a.png' }).focus()
  await userEvent.keyboard('+')
  expect(scale()).toBe('225 %')
  await userEvent.keyboard('-')
  expect(scale()).toBe('150 %')
  await userEvent.keyboard('0')
  expect(scale()).toBe('100 %')
  const wheel = new WheelEvent('wheel', { deltaY: -300, cancelable: true, bubbles: true })
  screen.getByRole('region', { name: 'a.png' }).dispatchEvent(wheel)
  expect(wheel.defaultPrevented).toBe(true)
  expect(await screen.findByText(/^18\d %$/)).toBeTruthy()
})

describe('a search in all conversations that led to an attached file', () => {
  const files = [
    { name: 'a.txt', extension: 'txt', content: 'a heron' },
    { name: 'b.txt', extension: 'txt', content: 'A Dugong, and a heron' },
  ]
  const led = (message: string, findFile: string) =>
    act(() => useUi.setState({ find: 'dugong heron', findAt: message, findFile }))
  afterEach(() => useUi.setState({ find: null, findAt: null, findFile: null }))

  it('opens it, once', async () => {
    const { unmount } = render(<SentFiles files={files} message="m1" />)
    led('m1', 'b.txt')
    expect((await screen.findByRole('group', { name: 'b.txt' })).textContent).toContain('Dugong')
    await userEvent.keyboard('{Escape}')
    expect(screen.queryByRole('dialog')).toBeNull()
    unmount()
    render(<SentFiles files={files} message="m1" />)
    expect(screen.queryByRole('dialog')).toBeNull()
    expect(useUi.getState().findFile).toBeNull()
  })

  it.each([
    ['in another message', 'm2', 'b.txt'],
    ['whose name alone has the words', 'm1', 'a.txt'],
    ['that is gone', 'm1', 'c.txt'],
  ])('opens none for one %s', (_, message, name) => {
    render(<SentFiles files={files} message="m1" />)
    led(message, name)
    expect(screen.queryByRole('dialog')).toBeNull()
    expect(useUi.getState().findFile).toBe(name)
  })

  it('opens none of the files of a message that is being edited', () => {
    render(<SentFiles files={files} onRemove={() => {}} />)
    led('m1', 'b.txt')
    expect(screen.queryByRole('dialog')).toBeNull()
  })
})
