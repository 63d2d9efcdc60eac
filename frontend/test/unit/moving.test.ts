import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { ApiError } from '@/api/client'
import { continueAnswer, getHistory, sendMessage } from '@/api/endpoints'
import type { Notice } from '@/api/types'
import { connectEvents, disconnect } from '@/app/follow'
import { loadThread, send } from '@/app/threads'
import { useLive } from '@/stores/live'
import { shownThread } from '@/thread/loaded'
import { type Asked, serve } from '../fetch'
import { historyAt } from './frames'

const moving = { code: 'home_moving', message: 'the home is on its way' }
const enveloped = { code: 503, reason: 'home_moving', message: 'the home is on its way' }

let asked: Asked[] = []

/** Answers with these in order, and with the last one from then on. */
function serveInOrder(...answers: [status: number, body: unknown][]): void {
  asked = []
  serve(call => {
    asked.push(call)
    return answers[Math.min(asked.length, answers.length) - 1] as [number, unknown]
  })
}

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

it('a call is sent again, with its body, until the home is there', async () => {
  serveInOrder([503, moving], [503, enveloped], [200, { work_id: 'w' }])
  const message = { message: 'Hi', attachments: [], idempotency_key: 'k1' }
  const sent = sendMessage('s', message)
  await vi.runAllTimersAsync()
  expect(await sent).toEqual({ work_id: 'w' })
  expect(asked.map(({ body }) => body)).toEqual([message, message, message])
})

it('a pause that the server names is kept', async () => {
  const answers = [
    new Response(JSON.stringify(moving), { status: 503, headers: { 'Retry-After': '3' } }),
    new Response('{}', { status: 200 }),
  ]
  let times = 0
  serve(() => answers[times++] as Response)
  const read = getHistory('s')
  await vi.advanceTimersByTimeAsync(2900)
  expect(times).toBe(1)
  await vi.advanceTimersByTimeAsync(200)
  expect(times).toBe(2)
  await read
})

it('a home that does not come is an error after half a minute', async () => {
  serveInOrder([503, moving])
  const failed = getHistory('s').catch((error: unknown) => error)
  await vi.runAllTimersAsync()
  expect(await failed).toBeInstanceOf(ApiError)
  expect(await failed).toMatchObject({ status: 503, code: 'home_moving' })
  expect(asked.length).toBeGreaterThan(20)
  expect(asked.length).toBeLessThan(40)
})

it('other refusals are not sent again, whatever was done', async () => {
  for (const [status, code] of [
    [502, 'answer_lost'],
    [409, 'home_moving'],
  ] as const) {
    serveInOrder([status, { code, message: 'no' }])
    const failed = getHistory('s').catch((error: unknown) => error)
    await vi.runAllTimersAsync()
    expect(await failed).toMatchObject({ status, code })
    expect(asked).toHaveLength(1)
  }
})

it('a call that the home has left behind is sent again if doing it twice is the same as once', async () => {
  const fenced = { code: 'fenced', message: 'nothing was written' }
  serveInOrder([503, fenced], [200, { work_id: 'w' }])
  const sent = sendMessage('s', { message: 'Hi', attachments: [], idempotency_key: 'k1' })
  await vi.runAllTimersAsync()
  expect(await sent).toEqual({ work_id: 'w' })
  serveInOrder([503, fenced], [200, {}])
  const failed = continueAnswer('s', false).catch((error: unknown) => error)
  await vi.runAllTimersAsync()
  expect(await failed).toMatchObject({ status: 503, code: 'fenced' })
  expect(asked).toHaveLength(1)
})

it('a message that is sent while the home moves arrives once', async () => {
  const keys: (string | null)[] = []
  serve(({ method, headers }) => {
    if (method === 'GET') return [200, historyAt(0)]
    keys.push(headers.get('Idempotency-Key'))
    return keys.length < 3 ? [503, moving] : [202, { work_id: 'w1' }]
  })
  const states = () => useLive.getState().outbox.s?.map(({ state }) => state.kind)
  send('s', { content: 'Hi', attachments: [] })
  await vi.advanceTimersByTimeAsync(1500)
  expect(states()).toEqual(['sending'])
  await vi.advanceTimersByTimeAsync(1000)
  expect(states()).toEqual(['accepted'])
  expect(keys).toHaveLength(3)
  expect(new Set(keys).size).toBe(1)
})

/** The stream of events of one server after another. */
class Source extends EventTarget {
  static opened: Source[] = []
  static readonly CLOSED = 2
  static readonly OPEN = 1
  readyState = 1
  onopen: (() => void) | null = null
  onerror: (() => void) | null = null
  constructor(readonly url: string) {
    super()
    Source.opened.push(this)
  }
  close(): void {
    this.readyState = 2
  }
  tell(notice: Notice, id: string): void {
    const event = new MessageEvent(notice.type, { data: JSON.stringify(notice), lastEventId: id })
    this.dispatchEvent(event)
  }
}

it('the text of an answer is not doubled by the events of another server', async () => {
  vi.stubGlobal('EventSource', Source)
  const first = { ...historyAt(1), last_event_id: 'boot1.5' }
  let history = first
  serve(({ path }) => [200, path.includes('/history') ? history : {}])
  connectEvents('boot1.5')
  const [before] = Source.opened
  before?.onopen?.()
  before?.tell({ type: 'hello', boot_id: 'boot1', version: '1' }, '')
  useLive.setState({ threads: {} })
  await loadThread('s')
  const shown = () => JSON.stringify(shownThread(useLive.getState().threads.s)?.entries)
  const text = shown()
  before?.onerror?.()
  await vi.advanceTimersByTimeAsync(1000)
  const after = Source.opened.at(-1)
  expect(after).not.toBe(before)
  expect(after?.url).toContain('after=boot1.5')
  // The other server knows nothing of that id; its own numbers begin anew.
  history = { ...first, last_event_id: 'boot2.2' }
  after?.onopen?.()
  after?.tell({ type: 'hello', boot_id: 'boot2', version: '1' }, '')
  after?.tell({ type: 'gap' }, '')
  await vi.runOnlyPendingTimersAsync()
  expect(shown()).toBe(text)
  expect(shownThread(useLive.getState().threads.s)?.lastEventId).toBe('boot2.2')
  disconnect()
})
