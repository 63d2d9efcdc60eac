import type { Token } from 'marked'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { DeferredToken } from '@/lib/markdown/lex'
import { LexQueue, type LexWorker } from '@/lib/markdown/lexQueue'

/** A worker that responds when it is told to. */
class Slow implements LexWorker {
  onmessage: LexWorker['onmessage'] = null
  onerror: LexWorker['onerror'] = null
  given: DeferredToken[] = []
  ended = false
  postMessage(token: DeferredToken) {
    this.given.push(token)
  }
  terminate() {
    this.ended = true
  }
  say(data: unknown) {
    this.onmessage?.({ data } as MessageEvent)
  }
}

const text = (raw: string): DeferredToken => ({ type: 'later', raw, of: 'inline', links: {} })
const TOKENS: Token[] = [{ type: 'text', raw: 'x', text: 'x', escaped: false }]
let workers: Slow[]
let queue: LexQueue
const worker = () => workers.at(-1) as Slow

beforeEach(() => {
  vi.useFakeTimers()
  workers = []
  queue = new LexQueue(() => {
    workers.push(new Slow())
    return worker()
  })
})
afterEach(() => {
  vi.useRealTimers()
})

it('a text that times out stays plain, and the next one gets a new worker', async () => {
  const [first, second] = [queue.lex(text('slow')), queue.lex(text('quick'))]
  worker().say('ready')
  expect(worker().given.map(token => token.raw)).toEqual(['slow'])
  vi.advanceTimersByTime(499)
  expect(worker().ended).toBe(false)
  vi.advanceTimersByTime(1)
  expect(await first).toBeNull()
  expect(workers.map(one => one.ended)).toEqual([true, false])
  worker().say('ready')
  worker().say(TOKENS)
  expect(await second).toEqual(TOKENS)
  // Neither is retried when the conversation is opened again.
  expect([queue.recall(text('slow')), queue.recall(text('quick'))]).toEqual([null, TOKENS])
  expect(await queue.lex(text('slow'))).toBeNull()
  expect(workers).toHaveLength(2)
})

it('the start of a worker does not count against a text’s time limit', async () => {
  const found = queue.lex(text('a'))
  vi.advanceTimersByTime(5_000)
  worker().say('ready')
  worker().say(TOKENS)
  expect(await found).toEqual(TOKENS)
})

it('the same text is lexed once, and an idle worker is terminated', async () => {
  const both = [queue.lex(text('a')), queue.lex(text('a'))]
  worker().say('ready')
  worker().say(TOKENS)
  expect(await Promise.all(both)).toEqual([TOKENS, TOKENS])
  expect(worker().given).toHaveLength(1)
  vi.advanceTimersByTime(10_000)
  expect(worker().ended).toBe(true)
})

it('without workers a text stays plain', async () => {
  const none = new LexQueue(() => {
    throw new Error('no workers here')
  })
  expect(await none.lex(text('a'))).toBeNull()
  const broken = queue.lex(text('b'))
  worker().onerror?.(new Event('error') as ErrorEvent)
  expect(await broken).toBeNull()
})

it('the cache is bounded', async () => {
  for (let i = 0; i < 300; i++) {
    const found = queue.lex(text(`${i}${'x'.repeat(20_000)}`))
    if (i === 0) worker().say('ready')
    worker().say(TOKENS)
    await found
  }
  const known = Array.from({ length: 300 }, (_, i) => queue.recall(text(`${i}${'x'.repeat(20_000)}`))).filter(
    Boolean,
  )
  expect(known.length).toBeLessThan(110)
  expect(queue.recall(text(`299${'x'.repeat(20_000)}`))).toEqual(TOKENS)
})
