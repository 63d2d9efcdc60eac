import { describe, expect, it } from 'vitest'
import type { History, Message } from '@/api/types'
import { fromHistory, withEarlier } from '@/thread/history'
import type { Thread } from '@/thread/model'
import { firstMessageOf, messagesIn } from '@/thread/places'

const MESSAGES: Message[] = [3, 1, 2, 4, 1].flatMap((answers, n) => [
  { role: 'user' as const, content: `Question ${n}`, id: `q${n}`, work_id: `w${n}` },
  ...Array.from({ length: answers }, (_, i) => ({
    ...{ role: 'assistant' as const, content: `Answer ${n}.${i}`, id: `a${n}.${i}`, work_id: `w${n}` },
  })),
])
/** The messages `from` to `to` as the server sends them. */
const page = (from: number, to: number, rest: Partial<History> = {}): History => ({
  session_id: 's',
  title: 'Long',
  messages: MESSAGES.slice(from, to),
  ...(from > 0 ? { earlier: from } : {}),
  last_event_id: '1.9',
  running: null,
  ...rest,
})
const questions = MESSAGES.flatMap(({ role }, i) => (role === 'user' ? [i] : []))
const whole = fromHistory(page(0, MESSAGES.length))

/** Joins a page of earlier messages with the thread, as the page of the browser asks for it. */
const join = (thread: Thread, from: number, to: number, rest?: Partial<History>): Thread =>
  withEarlier(thread, page(from, to, rest), thread.earlier?.before ?? '')

describe('pages of a history', () => {
  it('join to the whole, wherever they are cut', () => {
    for (const last of questions)
      for (const middle of questions.filter(at => at < last)) {
        const thread = fromHistory(page(last, MESSAGES.length))
        const joined = join(join(thread, middle, last), 0, middle)
        expect(joined).toEqual(whole)
      }
  })
  it('name the messages before them', () => {
    const thread = fromHistory(page(4, MESSAGES.length))
    expect(thread.earlier).toEqual({ count: 4, before: 'q1' })
    expect(firstMessageOf(thread)).toBe('q1')
    expect(messagesIn(thread)).toBe(MESSAGES.length - 4)
    expect(whole.earlier).toBe(null)
  })
  it('leave the summary at the top, and a work as it runs', () => {
    const rest = { compressed_context: 'What was said before.' }
    const running = { ...rest, running: { work_id: 'w4' } }
    const thread = fromHistory(page(4, MESSAGES.length, running))
    const joined = join(thread, 0, 4, running)
    expect(joined.entries.map(entry => entry.kind)).toEqual(['summary', ...whole.entries.map(e => e.kind)])
    expect(joined.entries.at(-1)).toMatchObject({ workId: 'w4', outcome: { kind: 'running' } })
    expect(joined.entries[2]).toMatchObject({ workId: 'w0', outcome: { kind: 'done' } })
    expect(firstMessageOf(joined)).toBe('q0')
  })
  it('do nothing if the thread has changed meanwhile', () => {
    const thread = fromHistory(page(4, MESSAGES.length))
    expect(withEarlier(thread, page(0, 4), 'q2')).toBe(thread)
  })
  it('keep the place of messages without an id', () => {
    const bare = MESSAGES.map(({ id: _, ...message }) => message)
    const thread = fromHistory({ ...page(4, MESSAGES.length), messages: bare.slice(4) })
    expect(thread.earlier?.before).toBe('m4')
    expect(thread.entries[0]?.id).toBe('m4')
  })
})
