/** The calls of an answer as steps: where they are put, and what becomes of them when a person is asked. */
import type { Decision, Frame } from '@/api/types'
import type { AssistantEntry, Segment, Step, StepStatus } from './model'

type FrameOf<T extends Frame['type']> = Extract<Frame, { type: T }>

const isBefore = (a: Step, b: Step): boolean =>
  a.place !== undefined &&
  b.place !== undefined &&
  (a.place[0] < b.place[0] || (a.place[0] === b.place[0] && a.place[1] < b.place[1]))

/**
 * Adds a step to the last chain, or opens a chain; a step with a known id is replaced in place. Calls that run at the
 * same time may begin in another order than the model requested them: they are shown in that order.
 */
export function putStep(segments: Segment[], step: Step): Segment[] {
  const known = segments.findIndex(s => s.kind === 'tools' && s.steps.some(x => x.id === step.id))
  const home = segments[known]
  if (home?.kind === 'tools') {
    return segments.with(known, { kind: 'tools', steps: home.steps.map(x => (x.id === step.id ? step : x)) })
  }
  const last = segments.at(-1)
  return last?.kind === 'tools'
    ? [...segments.slice(0, -1), { kind: 'tools', steps: inOrder(last.steps, step) }]
    : [...segments, { kind: 'tools', steps: [step] }]
}

function inOrder(steps: readonly Step[], step: Step): Step[] {
  const later = steps.findIndex(other => isBefore(step, other))
  return steps.toSpliced(later < 0 ? steps.length : later, 0, step)
}

export const findStep = (entry: AssistantEntry, id: string): Step | undefined =>
  entry.segments.flatMap(s => (s.kind === 'tools' ? s.steps : [])).find(s => s.id === id)

/** A call that has run with its changes kept apart keeps its output while it waits. */
export function asked(entry: AssistantEntry, frame: FrameOf<'approval_request'>): AssistantEntry {
  const { call_id: id, tool, shown } = frame
  const begun = findStep(entry, id)
  const step: Step = {
    id,
    place: [frame.dialogue, frame.index],
    tool,
    input: shown.command ?? shown.path ?? '',
    arguments: frame.arguments,
    output: begun?.output ?? '',
    result: undefined,
    status: 'approval',
    durationMs: null,
    // What a server asks leaves the decision about the call as it is.
    verdict: shown.elicitation ? (begun?.verdict ?? null) : null,
    ...(begun?.elicited && { elicited: begun.elicited }),
    ...(shown.elicitation && { asking: shown.elicitation.server }),
    undone: false,
  }
  return { ...entry, segments: putStep(entry.segments, step), fresh: false }
}

const AFTER: Record<Decision, StepStatus> = {
  approved: 'running',
  denied: 'denied',
  expired: 'denied',
  cancelled: 'cancelled',
}

/** False for a decision that was added after this page was built. */
export const isKnownDecision = (decision: Decision): boolean => Object.hasOwn(AFTER, decision)

export function answered(entry: AssistantEntry, frame: FrameOf<'approval_result'>): AssistantEntry {
  const step = findStep(entry, frame.call_id)
  if (!step) return entry
  const { elicited } = frame
  if (elicited) {
    const { action, content = {} } = elicited
    const given = { server: step.asking ?? '', action, content }
    const next: Step = {
      ...step,
      status: 'running',
      asking: undefined,
      elicited: [...(step.elicited ?? []), given],
    }
    return { ...entry, segments: putStep(entry.segments, next) }
  }
  const changed = frame.arguments != null
  const { decision, scope } = frame
  const next: Step = {
    ...step,
    arguments: changed ? frame.arguments : step.arguments,
    // What an unknown decision leads to is shown by the frames that follow.
    ...(isKnownDecision(decision)
      ? { status: AFTER[decision], verdict: { decision, scope, reason: frame.reason ?? null, changed } }
      : { status: 'running', verdict: null }),
  }
  return { ...entry, segments: putStep(entry.segments, next) }
}
