import { describe, expect, it } from 'vitest'
import type { Frame } from '@/api/types'
import { advance, type Envelope, receive } from '@/thread/advance'
import { coalesce } from '@/thread/deltas'
import { fromHistory, withEarlier } from '@/thread/history'
import { settle, startLoading, take } from '@/thread/loaded'
import { type AssistantEntry, emptyThread, type Thread } from '@/thread/model'
import { BOOT, ENVELOPES, FRAMES, historyAt } from './frames'
import { search } from './searches'

const follow = (thread: Thread, envelopes: readonly Envelope[]): Thread => envelopes.reduce(receive, thread)
const start = (): Thread => emptyThread('s')
const whole = follow(start(), ENVELOPES)

const answer = (thread: Thread): AssistantEntry => {
  const entry = thread.entries.at(-1)
  if (entry?.kind !== 'assistant') throw new Error('no answer')
  return entry
}
const shape = (thread: Thread): string =>
  answer(thread)
    .segments.map(s => (s.kind === 'tools' ? `tools(${s.steps.map(x => x.status).join()})` : s.kind))
    .join(' ')

describe('a work becomes one answer with its segments in order', () => {
  it('thinking, text, the chain, text', () => {
    expect(shape(whole)).toBe('thinking text tools(done,done) text')
    expect(answer(whole).outcome).toEqual({ kind: 'done' })
    expect(whole.running).toBeNull()
    expect(whole.title).toBe('Who am I')
  })
  it('calls that run at the same time stand in the order in which the model requested them', () => {
    const begins = (id: string, index: number, dialogue = 0): Frame => ({
      ...{ type: 'tool_start', tool: 'read_file', input: id, id, arguments: {}, index, dialogue },
    })
    const order = ['c', 'a', 'd', 'b'].map((id, i) => begins(id, [2, 0, 0, 1][i] ?? 0, id === 'd' ? 1 : 0))
    const thread = order.reduce(advance, advance(start(), FRAMES[0] as Frame))
    const [chain] = answer(thread).segments
    expect(chain?.kind === 'tools' && chain.steps.map(step => step.id)).toEqual(['a', 'b', 'c', 'd'])
  })
  it('a status line lasts until the next frame', () => {
    expect(follow(start(), ENVELOPES.slice(0, 2)).activity?.progress).toBe(0.4)
    expect(follow(start(), ENVELOPES.slice(0, 3)).activity).toBeNull()
  })
  it('a call that is being written is known until it begins', () => {
    const writing = { tool: 'create_file', bytes: 2048 }
    const written: Frame = { type: 'status', kind: 'writing_input', message: 'Writing', writing }
    const thread = advance(follow(start(), ENVELOPES.slice(0, 6)), written)
    expect(thread.activity?.writing).toEqual(writing)
    expect(advance(thread, FRAMES[6] as Frame).activity).toBeNull()
  })
  it('text after new_response never joins the text before it', () => {
    const frames: Frame[] = [
      FRAMES[0] as Frame,
      { type: 'token', content: 'a' },
      { type: 'new_response' },
      { type: 'token', content: 'b' },
    ]
    expect(answer(frames.reduce(advance, start())).segments).toEqual([
      { kind: 'text', text: 'a' },
      { kind: 'text', text: 'b' },
    ])
  })
  it('an error keeps the partial text and ends the running step', () => {
    const broken: Frame = {
      type: 'error',
      error: 'no network',
      session_id: 's',
      work_id: 'w1',
      code: 'provider',
      retryable: true,
    }
    const thread = advance(follow(start(), ENVELOPES.slice(0, 7)), broken)
    expect(shape(thread)).toBe('thinking text tools(interrupted)')
    expect(answer(thread).outcome).toEqual({
      kind: 'error',
      message: 'no network',
      code: 'provider',
      retryable: true,
      about: {},
    })
    expect(thread.running).toBeNull()
  })
  it('stop keeps the text so far and reports that it was stopped', () => {
    const done: Frame = {
      type: 'done',
      content: '',
      session_id: 's',
      work_id: 'w1',
      stop_reason: 'interrupted',
    }
    const ended = (frame: Frame) => answer(advance(follow(start(), ENVELOPES.slice(0, 6)), frame)).outcome
    expect(ended({ ...done, stopped_by: 'person' })).toEqual({ kind: 'stopped', by: 'person' })
    expect(ended({ ...done, stopped_by: 'server' })).toEqual({ kind: 'stopped', by: 'server' })
    expect(ended(done)).toEqual({ kind: 'stopped', by: 'person' })
  })
})

describe('replaying a stream changes nothing', () => {
  it('frame by frame', () => {
    let thread = start()
    for (const envelope of ENVELOPES) {
      thread = receive(thread, envelope)
      expect(receive(thread, envelope)).toBe(thread)
    }
  })
  it('as a whole', () => {
    expect(follow(whole, ENVELOPES)).toBe(whole)
  })
  it('but a frame of another run of the server is new, whatever its number', () => {
    const other: Envelope = { id: 'b8.1', frame: { type: 'title', session_id: 's', title: 'new' } }
    expect(receive(whole, other).title).toBe('new')
  })
})

describe('the history and the frames after it give the same as all frames', () => {
  for (let count = 0; count <= FRAMES.length; count++) {
    it(`cut after frame ${count}${count ? ` (${FRAMES[count - 1]?.type})` : ''}`, () => {
      const thread = follow(fromHistory(historyAt(count)), ENVELOPES)
      expect(shape(thread)).toBe(shape(whole))
      expect(answer(thread).segments).toEqual(answer(whole).segments)
      expect(answer(thread).outcome).toEqual(answer(whole).outcome)
      expect(thread.entries).toHaveLength(2)
      expect(thread.lastEventId).toBe(whole.lastEventId)
      expect(thread.title).toBe('Who am I')
    })
  }
  it('also when frames arrive while the history is loading', () => {
    for (let count = 1; count < FRAMES.length; count++) {
      const waiting = take(startLoading(undefined), ENVELOPES.slice(Math.max(0, count - 4)))
      const loaded = settle(waiting, historyAt(count))
      expect(loaded.phase === 'ready' && answer(loaded.thread).segments).toEqual(answer(whole).segments)
    }
  })
})

it('taint sources are listed once, and gone after they are cleared', () => {
  const end = FRAMES.find(frame => frame.type === 'tool_end') as Extract<Frame, { type: 'tool_end' }>
  const page = { from: 'page', name: 'https://x.test/' } as const
  const asked = FRAMES.find(frame => frame.type === 'user_message') as Extract<
    Frame,
    { type: 'user_message' }
  >
  const attachments = [{ name: 'a.md', extension: 'md', content: '' }]
  const read = [
    { ...asked, attachments },
    { ...end, taint: [page] },
    { ...end, taint: [page, { from: 'output' }] },
  ]
  const thread = (read as Frame[]).reduce(advance, start())
  expect(thread.taint).toEqual([{ from: 'attachment', name: 'a.md' }, page, { from: 'output' }])
  expect(advance(thread, { type: 'taint_cleared' }).taint).toEqual([])
  const history = { ...historyAt(FRAMES.length), taint: [page] }
  expect(fromHistory(history).taint).toEqual([page])
})

it('merged deltas give the same thread as single ones', () => {
  const joined = coalesce(ENVELOPES)
  expect(joined.length).toBeLessThan(ENVELOPES.length)
  expect(follow(start(), joined)).toEqual(whole)
})

it('found passages survive a reload of the history', () => {
  const found: Envelope = {
    id: `${BOOT}.1`,
    frame: { type: 'retrieval', query: 'q', results: search().hits, search: search() },
  }
  const shown = receive(receive(start(), { id: null, frame: FRAMES[0] as Frame }), found)
  const loaded = settle(startLoading({ phase: 'ready', thread: shown }), historyAt(FRAMES.length))
  expect(loaded.phase === 'ready' && answer(loaded.thread).segments[0]?.kind).toBe('retrieval')
})

describe('a withdrawn work', () => {
  const frame = (work_id: string, withdrawn: boolean): Frame => ({ type: 'withdrawn', work_id, withdrawn })
  it('is known until it is reapplied, once, and its entries stay', () => {
    const thread = [frame('w1', true), frame('w2', true), frame('w1', true)].reduce(advance, whole)
    expect(thread.withdrawn).toEqual(['w2', 'w1'])
    expect(thread.entries).toBe(whole.entries)
    expect([frame('w2', false), frame('w1', false)].reduce(advance, thread).withdrawn).toEqual([])
  })
  it('is in the history too, also on pages of earlier messages', () => {
    const history = { ...historyAt(FRAMES.length), withdrawn: ['w1'] }
    const thread = fromHistory({ ...history, earlier: 2 })
    expect(thread.withdrawn).toEqual(['w1'])
    const page = { ...history, messages: [], withdrawn: ['w0'] }
    expect(withEarlier(thread, page, thread.earlier?.before ?? '').withdrawn).toEqual(['w0', 'w1'])
  })
})
