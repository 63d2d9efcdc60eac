import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { openEvents } from '@/api/events'

/** Stands for the browser's stream; the test speaks in the place of the server. */
class FakeSource extends EventTarget {
  static CLOSED = 2
  static OPEN = 1
  static all: FakeSource[] = []
  static latest = (): FakeSource => FakeSource.all.at(-1) as FakeSource
  readyState = FakeSource.OPEN
  onopen = () => undefined
  onerror = () => undefined
  constructor(readonly url: string) {
    super()
    FakeSource.all.push(this)
  }
  close() {
    this.readyState = FakeSource.CLOSED
  }
  say(type: string, lastEventId = ''): void {
    this.dispatchEvent(new MessageEvent(type, { data: JSON.stringify({ type }), lastEventId }))
  }
}

let hidden = false
const see = (now: boolean) => {
  hidden = !now
  document.dispatchEvent(new Event('visibilitychange'))
}
const opened = () => FakeSource.all.map(({ url }) => url)
const follow = (after: string | null = null) =>
  openEvents(after, { onNotice: () => {}, onRefused: () => {}, onState: () => {} })

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('EventSource', FakeSource)
  vi.spyOn(document, 'hidden', 'get').mockImplementation(() => hidden)
  FakeSource.all = []
  hidden = false
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

it('a lost stream resumes after the last event that had an id', () => {
  const stream = follow()
  FakeSource.latest().say('frame', '7')
  // A greeting has no place in the order, and must not change where the stream resumes.
  FakeSource.latest().say('hello')
  FakeSource.latest().onerror()
  vi.advanceTimersByTime(1000)
  expect(opened()).toEqual(['/api/events', '/api/events?after=7'])
  stream.close()
})

it('an id that led to a gap is not asked for again', () => {
  const stream = follow('old')
  FakeSource.latest().say('gap', 'old')
  FakeSource.latest().onerror()
  vi.advanceTimersByTime(1000)
  expect(opened()).toEqual(['/api/events?after=old', '/api/events'])
  stream.close()
})

it('a page that was hidden for more than five seconds opens a silent stream again', () => {
  const stream = follow()
  FakeSource.latest().say('frame', '7')
  see(false)
  vi.advanceTimersByTime(4000)
  see(true)
  expect(opened()).toHaveLength(1)
  see(false)
  vi.advanceTimersByTime(6000)
  see(true)
  expect(opened().at(-1)).toBe('/api/events?after=7')
  expect(opened()).toHaveLength(2)
  // A stream that was heard from in the meantime is alive.
  see(false)
  vi.advanceTimersByTime(6000)
  FakeSource.latest().say('frame', '8')
  see(true)
  expect(opened()).toHaveLength(2)
  stream.close()
})

it('the pauses between attempts grow, and the return of the network ends them', () => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
  const stream = follow()
  for (const pause of [500, 1000, 2000]) {
    const before = opened().length
    FakeSource.latest().onerror()
    vi.advanceTimersByTime(pause - 1)
    expect(opened()).toHaveLength(before)
    vi.advanceTimersByTime(1)
    expect(opened()).toHaveLength(before + 1)
  }
  FakeSource.latest().onerror()
  window.dispatchEvent(new Event('online'))
  expect(opened()).toHaveLength(5)
  stream.close()
})
