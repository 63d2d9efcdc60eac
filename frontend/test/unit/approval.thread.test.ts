import { describe, expect, it } from 'vitest'
import type { Decision, Frame, History, Message } from '@/api/types'
import { advance } from '@/thread/advance'
import { fromHistory } from '@/thread/history'
import { type AssistantEntry, emptyThread, type Step, type Thread } from '@/thread/model'
import { approval } from './approvals'

const ASKED: Frame[] = [
  { type: 'user_message', work_id: 'w1', content: 'report', message_id: 'm1' },
  { type: 'approval_request', ...approval(), index: 0, dialogue: 0 },
]
const result = (decision: Decision, over = {}): Frame => ({
  type: 'approval_result',
  approval_id: 'p1',
  call_id: 'c1',
  decision,
  scope: 'once',
  reason: null,
  arguments: null,
  ...over,
})
const start: Frame = {
  ...{ type: 'tool_start', tool: 'terminal', input: 'make report', id: 'c1', index: 0, dialogue: 0 },
  arguments: { command: 'make report', timeout: 60 },
}
const end = (status: string): Frame =>
  ({
    ...{ type: 'tool_end', tool: 'terminal', output: 'ok', id: 'c1', operation_code: [], duration_ms: 4 },
    ...{ result: null, status },
  }) as unknown as Frame

const follow = (frames: Frame[]): Thread => frames.reduce(advance, emptyThread('s'))
const step = (thread: Thread): Step => {
  const [segment] = (thread.entries.at(-1) as AssistantEntry).segments
  if (segment?.kind !== 'tools' || !segment.steps[0]) throw new Error('no step')
  return segment.steps[0]
}

describe('a pending call', () => {
  it('shows in the chain as waiting, with what it would run', () => {
    expect(step(follow(ASKED))).toMatchObject({
      id: 'c1',
      tool: 'terminal',
      input: 'make report',
      status: 'approval',
      verdict: null,
    })
  })
  it('runs after it is allowed, and keeps who allowed it', () => {
    const after = follow([...ASKED, result('approved', { scope: 'always' })])
    expect(step(after).status).toBe('running')
    const done = follow([...ASKED, result('approved', { scope: 'always' }), start, end('done')])
    expect(step(done)).toMatchObject({
      status: 'done',
      output: 'ok',
      verdict: { decision: 'approved', scope: 'always', reason: null, changed: false },
    })
  })
  it('whose decision or status only a newer server knows is shown by what the page knows', () => {
    const postponed = result('postponed' as Decision)
    expect(step(follow([...ASKED, postponed]))).toMatchObject({ status: 'running', verdict: null })
    expect(step(follow([...ASKED, postponed, start, end('constructor')])).status).toBe('done')
    expect(step(follow([...ASKED, result('denied'), end('denied')])).status).toBe('denied')
  })
  it('shows the edited input', () => {
    const changed = { command: 'make report --dry-run' }
    const after = step(follow([...ASKED, result('approved', { arguments: changed })]))
    expect([after.arguments, after.verdict?.changed]).toEqual([changed, true])
  })
  it('ends denied, expired or cancelled', () => {
    for (const [decision, status] of [
      ['denied', 'denied'],
      ['expired', 'denied'],
      ['cancelled', 'cancelled'],
    ] as const) {
      const ended = step(follow([...ASKED, result(decision, { reason: 'no' }), end(status)]))
      expect(ended.status).toBe(status)
      expect(ended.verdict).toEqual({ decision, scope: 'once', reason: 'no', changed: false })
    }
  })
  it('is one step, however often the question arrives', () => {
    const twice = follow([...ASKED, ASKED[1] as Frame])
    expect((twice.entries.at(-1) as AssistantEntry).segments).toHaveLength(1)
    expect(step(twice).status).toBe('approval')
  })
  it('is closed when the work ends without an answer', () => {
    const done: Frame = {
      type: 'done',
      content: '',
      session_id: 's',
      work_id: 'w1',
      stop_reason: 'interrupted',
    }
    expect(step(follow([...ASKED, done])).status).toBe('interrupted')
  })
})

describe('a call that ran with its changes kept apart', () => {
  const [message, question] = ASKED as [Frame, Frame]
  const wrote = (text: string): Frame => ({ type: 'tool_output', call_id: 'c1', text })
  const waiting = [message, start, wrote('one\n'), wrote('two\n'), question]
  const steps = (thread: Thread) =>
    (thread.entries.at(-1) as AssistantEntry).segments.flatMap(part =>
      part.kind === 'tools' ? part.steps : [],
    )

  it('waits in its own row, with what it has written', () => {
    const asked = follow(waiting)
    expect(steps(asked)).toHaveLength(1)
    expect(step(asked)).toMatchObject({ status: 'approval', output: 'one\ntwo\n', verdict: null })
  })
  it('keeps what it has written while it is applied, until its end', () => {
    const applied = follow([...waiting, result('approved'), start])
    expect(steps(applied)).toHaveLength(1)
    expect(step(applied)).toMatchObject({ status: 'running', output: 'one\ntwo\n' })
    const done = advance(applied, end('done'))
    expect(steps(done)).toHaveLength(1)
    expect(step(done)).toMatchObject({ status: 'done', output: 'ok', verdict: { decision: 'approved' } })
  })
  it('starts anew if its input was edited', () => {
    const edited = result('approved', { arguments: { command: 'make' } })
    expect(step(follow([...waiting, edited, start])).output).toBe('')
  })
  it('ends denied when it is discarded', () => {
    const discarded = follow([...waiting, result('denied'), end('denied')])
    expect(steps(discarded)).toHaveLength(1)
    expect(step(discarded).status).toBe('denied')
  })
  it('goes on from a history that was read at any time', () => {
    const call = { arguments: approval().arguments }
    for (const [status, rest] of [
      ['running', [question, result('approved'), start, end('done')]],
      ['approval', [result('approved'), start, end('done')]],
      ['running', [end('done')]],
    ] as const) {
      const read = fromHistory(historyOf({ ...call, status }))
      const done = rest.reduce(advance, read)
      expect(steps(done)).toHaveLength(1)
      expect(step(done)).toMatchObject({ status: 'done', output: 'ok' })
    }
  })
})

const historyOf = (call: Record<string, unknown>): History => ({
  session_id: 's',
  title: '',
  messages: [
    { role: 'user', content: 'report', id: 'm1', work_id: 'w1' },
    {
      ...{ role: 'assistant', content: '', id: 'm2', work_id: 'w1' },
      tool_calls: [
        { id: 'c1', tool: 'terminal', input: 'make report', output: '', index: 0, dialogue: 0, ...call },
      ],
    } as unknown as Message,
  ],
  last_event_id: 'b.2',
  running: { work_id: 'w1' },
})

it('an undone change is marked everywhere, and can be redone', () => {
  const done = follow([...ASKED, result('approved'), start, end('done')])
  const undone = advance(done, { type: 'undone', call_id: 'c1', path: 'memory/MEMORY.md', undone: true })
  expect(step(undone).undone).toBe(true)
  expect(step(advance(undone, { type: 'undone', call_id: 'c1', path: '', undone: false })).undone).toBe(false)
  expect(step(fromHistory(historyOf({ status: 'done', undone: true }))).undone).toBe(true)
})

it('a history gives the same result as the frames', () => {
  const waiting = fromHistory(
    historyOf({ status: 'approval', approval: approval(), arguments: approval().arguments }),
  )
  expect(step(waiting)).toEqual(step(follow(ASKED)))
  const verdict = {
    hash: 'abc',
    id: 'p1',
    decision: 'denied',
    scope: 'once',
    reason: 'not today',
    changed: false,
  }
  const denied = step(fromHistory(historyOf({ status: 'denied', approval: verdict })))
  expect([denied.status, denied.verdict?.reason]).toEqual(['denied', 'not today'])
})
