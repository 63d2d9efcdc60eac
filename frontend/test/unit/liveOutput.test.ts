import { expect, it } from 'vitest'
import type { Frame } from '@/api/types'
import { advance, type Envelope } from '@/thread/advance'
import { coalesce, isDelta, keepEnd } from '@/thread/deltas'
import { emptyThread, type Step, type Thread } from '@/thread/model'

const output = (text: string, call_id = 'c'): Frame => ({ type: 'tool_output', call_id, text })
const BEGUN: Frame[] = [
  { type: 'user_message', work_id: 'w', content: 'go', message_id: 'm' },
  { type: 'tool_start', tool: 'bash', input: '', id: 'c', arguments: {}, index: 0, dialogue: 0 },
]
const after = (...frames: Frame[]): Thread => [...BEGUN, ...frames].reduce(advance, emptyThread('s'))
const steps = ({ entries }: Thread): Step[] =>
  entries
    .flatMap(e => (e.kind === 'assistant' ? e.segments : []))
    .flatMap(s => (s.kind === 'tools' ? s.steps : []))

it('output is appended to its call until the result replaces it', () => {
  const running = after(output('a\n'), output('b\n'), output('x', 'unknown'))
  expect(steps(running).map(step => [step.output, step.status])).toEqual([['a\nb\n', 'running']])
  const end = { type: 'tool_end', tool: 'bash', id: 'c', output: 'all', status: 'done' } as const
  const ended = advance(running, { ...end, operation_code: [], duration_ms: 1, result: null })
  expect(steps(ended).map(step => [step.output, step.status])).toEqual([['all', 'done']])
})

it('only the end of a long output is kept', () => {
  const flood = after(output('first'), output('x'.repeat(20_000)), output('last'))
  const [step] = steps(flood)
  expect(step?.output).toHaveLength(16_384)
  expect(step?.output.endsWith('xlast')).toBe(true)
})

it('the cut is never inside a character', () => {
  expect(keepEnd(`😀${'x'.repeat(16_383)}`)).toBe('x'.repeat(16_383))
  expect(keepEnd(`a😀${'x'.repeat(16_382)}`)).toBe(`😀${'x'.repeat(16_382)}`)
  expect(keepEnd('short')).toBe('short')
})

it('neighbouring output of one call is one update, that of two calls is not', () => {
  const frames = [output('a'), output('b'), output('c', 'd'), output('e', 'd'), output('f')]
  const joined = coalesce(frames.map((frame, i): Envelope => ({ id: `b.${i}`, frame })))
  expect(joined.map(({ id, frame }) => [id, isDelta(frame) && 'text' in frame && frame.text])).toEqual([
    ['b.1', 'ab'],
    ['b.3', 'ce'],
    ['b.4', 'f'],
  ])
})
