/** The one function that turns frames into what is on the screen. Reload, live stream and tests all use it. */
import type { Frame, Message, StoppedBy, Taint } from '@/api/types'
import { keepEnd } from './deltas'
import { isCovered } from './eventId'
import {
  type AssistantEntry,
  type Attachment,
  type Outcome,
  type QueuedMessage,
  type Segment,
  type Step,
  type StepStatus,
  statusOf,
  type Thread,
} from './model'
import { keptPicture } from './picture'
import { answered, asked, findStep, putStep } from './steps'
import { afterCall } from './todo'

type FrameOf<T extends Frame['type']> = Extract<Frame, { type: T }>

function editLast(thread: Thread, edit: (entry: AssistantEntry) => AssistantEntry): Thread {
  const last = thread.entries.at(-1)
  if (last?.kind !== 'assistant') return thread
  return { ...thread, activity: null, entries: [...thread.entries.slice(0, -1), edit(last)] }
}

function appendText(entry: AssistantEntry, kind: 'text' | 'thinking', delta: string): AssistantEntry {
  const last = entry.segments.at(-1)
  const segments: Segment[] =
    last?.kind === kind && !entry.fresh
      ? [...entry.segments.slice(0, -1), { kind, text: last.text + delta }]
      : [...entry.segments, { kind, text: delta }]
  return { ...entry, segments, fresh: false }
}

const isOpen = ({ status }: Step): boolean => status === 'running' || status === 'approval'

const halt = (segments: Segment[]): Segment[] =>
  segments.map(s =>
    s.kind === 'tools' && s.steps.some(isOpen)
      ? {
          kind: 'tools',
          steps: s.steps.map(x => (isOpen(x) ? { ...x, status: 'interrupted' as StepStatus } : x)),
        }
      : s,
  )

/** How a work ended, as reported. */
interface Ended {
  reason: string
  detail: string | null
  by?: StoppedBy | null | undefined
}

export function outcomeOf({ reason, detail, by }: Ended): Outcome {
  if (reason === 'done') return { kind: 'done' }
  if (reason === 'interrupted') return { kind: 'stopped', by: by ?? 'person' }
  return { kind: 'cut', reason, detail }
}

const NOTHING: readonly Attachment[] = []

export const attachmentsOf = (
  { attachments }: Pick<Message, 'attachments'>,
  sessionId: string,
): readonly Attachment[] =>
  attachments?.map(({ name, extension = '', content = '', picture: of }) => {
    if (!of) return { name, extension, content }
    return { name, extension, content, picture: keptPicture(of, sessionId) }
  }) ?? NOTHING

export const queuedOf = (message: FrameOf<'queued'>['message'], sessionId: string): QueuedMessage => ({
  id: message.id,
  content: message.content,
  attachments: attachmentsOf(message, sessionId),
})

/** Adds a message to the queue, or replaces the one with the same id. */
function enqueue(thread: Thread, message: QueuedMessage): Thread {
  const known = thread.queue.some(({ id }) => id === message.id)
  const queue = known
    ? thread.queue.map(other => (other.id === message.id ? message : other))
    : [...thread.queue, message]
  return { ...thread, queue }
}

/** What a summary has replaced is known from the history alone, which is read again after each compaction. */
function pin(thread: Thread, { message_id: id, pinned }: Extract<Frame, { type: 'pinned' }>): Thread {
  const others = thread.pinned.filter(message => message.id !== id)
  return { ...thread, pinned: pinned ? [...others, { id, role: 'user', content: '' }] : others }
}

function withdraw(thread: Thread, { work_id: id, withdrawn }: FrameOf<'withdrawn'>): Thread {
  const others = thread.withdrawn.filter(other => other !== id)
  return { ...thread, withdrawn: withdrawn ? [...others, id] : others }
}

const dequeue = (thread: Thread, id: string): Thread =>
  thread.queue.some(message => message.id === id)
    ? { ...thread, queue: thread.queue.filter(message => message.id !== id) }
    : thread

const isSame = (a: Taint, b: Taint): boolean =>
  a.from === b.from && ('name' in a ? a.name : null) === ('name' in b ? b.name : null)

function withTaint(thread: Thread, sources: readonly Taint[]): Thread {
  const fresh = sources.filter(source => !thread.taint.some(known => isSame(known, source)))
  return fresh.length === 0 ? thread : { ...thread, taint: [...thread.taint, ...fresh] }
}

function begin(thread: Thread, frame: FrameOf<'user_message'>): Thread {
  if (thread.entries.some(e => e.kind === 'assistant' && e.workId === frame.work_id)) return thread
  const files = (frame.attachments ?? []).map(({ name }): Taint => ({ from: 'attachment', name }))
  return {
    ...withTaint(thread, files),
    running: { workId: frame.work_id },
    activity: null,
    entries: [
      ...thread.entries,
      {
        kind: 'user',
        id: frame.message_id,
        workId: frame.work_id,
        content: frame.content,
        attachments: attachmentsOf(frame, thread.sessionId),
        createdAt: null,
      },
      openAssistant(frame.work_id, frame.model ?? null),
    ],
  }
}

export const openAssistant = (workId: string, model: string | null = null): AssistantEntry => ({
  kind: 'assistant',
  id: `${workId}:answer`,
  workId,
  segments: [],
  outcome: { kind: 'running' },
  model,
  insteadOf: null,
  leftOut: 0,
  messageIds: [],
  createdAt: null,
  fresh: false,
})

function end(thread: Thread, outcome: Outcome, content: string): Thread {
  const settled = editLast(thread, entry => {
    const silent = content !== '' && !entry.segments.some(s => s.kind === 'text')
    const segments = halt(entry.segments)
    return {
      ...entry,
      outcome,
      fresh: false,
      segments: silent ? [...segments, { kind: 'text', text: content }] : segments,
    }
  })
  return { ...settled, running: null, activity: null }
}

function endStep(entry: AssistantEntry, frame: FrameOf<'tool_end'>): AssistantEntry {
  const begun = findStep(entry, frame.id)
  const step: Step = {
    id: frame.id,
    place: begun?.place,
    tool: frame.tool,
    input: begun?.input ?? '',
    arguments: begun?.arguments,
    output: frame.output,
    result: frame.result,
    status: statusOf(frame.status),
    durationMs: frame.duration_ms ?? null,
    verdict: begun?.verdict ?? null,
    ...(begun?.elicited && { elicited: begun.elicited }),
    undone: false,
  }
  return { ...entry, segments: putStep(entry.segments, step) }
}

function addOutput(entry: AssistantEntry, { call_id, text }: FrameOf<'tool_output'>): AssistantEntry {
  const step = findStep(entry, call_id)
  if (!step) return entry
  const output = keepEnd(step.output + text)
  return { ...entry, segments: putStep(entry.segments, { ...step, output }) }
}

/** What an allowed call had written before the question: it is not run again unless its input was edited. */
function outputSoFar(step: Step | undefined): string {
  const goesOn = step?.status === 'running' && step.verdict?.decision === 'approved' && !step.verdict.changed
  return goesOn ? step.output : ''
}

function undo(thread: Thread, { call_id, undone }: FrameOf<'undone'>): Thread {
  const entries = thread.entries.map(entry => {
    const step = entry.kind === 'assistant' ? findStep(entry, call_id) : undefined
    return entry.kind === 'assistant' && step
      ? { ...entry, segments: putStep(entry.segments, { ...step, undone }) }
      : entry
  })
  return { ...thread, entries }
}

export function advance(thread: Thread, frame: Frame): Thread {
  switch (frame.type) {
    case 'user_message':
      return begin(dequeue(thread, frame.message_id), frame)
    case 'queued':
      return enqueue(thread, queuedOf(frame.message, thread.sessionId))
    case 'unqueued':
      return dequeue(thread, frame.message_id)
    case 'work_continued':
      return {
        ...editLast(thread, entry => ({ ...entry, outcome: { kind: 'running' } })),
        running: { workId: frame.work_id },
      }
    case 'retrieval':
      return editLast(thread, e => ({
        ...e,
        segments: [
          ...e.segments,
          { kind: 'retrieval', query: frame.query, hits: frame.results, search: frame.search },
        ],
      }))
    case 'thinking':
      return editLast(thread, e => appendText(e, 'thinking', frame.content))
    case 'token':
      return editLast(thread, e => appendText(e, 'text', frame.content))
    case 'tool_start': {
      const { id, tool, input } = frame
      return editLast(thread, e => {
        const begun = findStep(e, id)
        const step: Step = {
          id,
          place: [frame.dialogue, frame.index],
          tool,
          input,
          arguments: frame.arguments,
          output: outputSoFar(begun),
          result: undefined,
          status: 'running',
          durationMs: null,
          verdict: begun?.verdict ?? null,
          ...(begun?.elicited && { elicited: begun.elicited }),
          undone: false,
        }
        return { ...e, segments: putStep(e.segments, step) }
      })
    }
    case 'approval_request':
      return editLast(thread, e => asked(e, frame))
    case 'approval_result':
      return editLast(thread, e => answered(e, frame))
    case 'undone':
      return undo(thread, frame)
    case 'withdrawn':
      return withdraw(thread, frame)
    case 'tool_end':
      return withTaint(
        {
          ...editLast(thread, e => endStep(e, frame)),
          todo: afterCall(thread.todo, frame.tool, frame.result),
        },
        frame.taint ?? [],
      )
    case 'tool_output':
      return editLast(thread, e => addOutput(e, frame))
    case 'pinned':
      return pin(thread, frame)
    case 'taint_cleared':
      return { ...thread, taint: [] }
    case 'new_response':
      return editLast(thread, e => ({ ...e, fresh: true }))
    case 'status':
      return {
        ...thread,
        activity: {
          kind: frame.kind,
          message: frame.message,
          progress: frame.progress ?? null,
          writing: frame.writing ?? null,
        },
      }
    case 'usage':
      return {
        ...editLast(thread, entry => ({ ...entry, leftOut: Math.max(entry.leftOut, frame.left_out) })),
        usage: {
          inputTokens: frame.input_tokens,
          outputTokens: frame.output_tokens,
          contextWindow: frame.context_window,
        },
      }
    case 'done':
      return end(
        thread,
        outcomeOf({ reason: frame.stop_reason, detail: frame.detail ?? null, by: frame.stopped_by }),
        frame.content,
      )
    case 'error': {
      const { error, code, retryable, about = {} } = frame
      return end(thread, { kind: 'error', message: error, code, retryable, about }, '')
    }
    case 'title':
      return { ...thread, title: frame.title }
    case 'model':
      return editLast(thread, entry => ({
        ...entry,
        model: frame.model,
        insteadOf: entry.insteadOf ?? frame.instead_of,
      }))
    case 'chosen':
      return { ...thread, chosen: frame.chosen }
    case 'bound':
      return { ...thread, projectId: frame.project_id ?? null }
    // Each of these means that the history was replaced; the code that follows the stream reads it again.
    case 'compressed':
    case 'restored':
    case 'branched':
    case 'gap':
      return thread
    default:
      // A type that is not handled above does not compile. A newer server may send one that this page does not know.
      frame satisfies never
      return thread
  }
}

const KNOWN: Record<Frame['type'], true> = {
  user_message: true,
  queued: true,
  unqueued: true,
  work_continued: true,
  retrieval: true,
  thinking: true,
  token: true,
  tool_start: true,
  approval_request: true,
  approval_result: true,
  undone: true,
  withdrawn: true,
  tool_output: true,
  tool_end: true,
  new_response: true,
  status: true,
  usage: true,
  done: true,
  error: true,
  title: true,
  model: true,
  chosen: true,
  bound: true,
  compressed: true,
  restored: true,
  branched: true,
  taint_cleared: true,
  pinned: true,
  gap: true,
}

/** False for a frame type that was added after this page was built: the page is older than its server. */
export const isKnown = ({ type }: Frame): boolean => Object.hasOwn(KNOWN, type)

export interface Envelope {
  id: string | null
  frame: Frame
}

/** Applies a frame unless the thread already contains it, so that replaying a stream changes nothing. */
export function receive(thread: Thread, { id, frame }: Envelope): Thread {
  if (isCovered(id, thread.lastEventId)) return thread
  const next = advance(thread, frame)
  return id === null ? next : { ...next, lastEventId: id }
}
