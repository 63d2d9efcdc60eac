/** Builds a thread from the messages of `GET /api/sessions/{id}/history`. */
import type { Failure, History, Message, ToolCall } from '@/api/types'
import { attachmentsOf, openAssistant, outcomeOf, queuedOf } from './advance'
import type { AnswerSource, AssistantEntry, Entry, Outcome, Segment, Step, Thread, Verdict } from './model'
import { emptyThread, statusOf } from './model'
import { isKnownDecision, putStep } from './steps'

/** While a call is pending, `approval` is the question; afterwards it is the answer. */
function verdictOf(call: ToolCall): Verdict | null {
  const { approval } = call
  if (!approval || !('decision' in approval)) return null
  const { decision, scope, reason = null, changed } = approval
  // It answered the server of the tool, and did not decide whether the call may run.
  if (call.elicitations?.some(({ id }) => id === approval.id)) return null
  if (!isKnownDecision(decision)) return null
  return { decision, scope, reason, changed }
}

function elicitedOf({ elicitations, approval }: ToolCall): Pick<Step, 'elicited' | 'asking'> {
  const elicited = elicitations?.map(({ server, action, content = {} }) => ({ server, action, content }))
  const asking = approval && !('decision' in approval) ? approval.shown.elicitation?.server : undefined
  return { ...(elicited?.length && { elicited }), ...(asking && { asking }) }
}

const stepOf = (call: ToolCall, id: string): Step => ({
  id: call.id || id,
  place: call.dialogue == null || call.index == null ? undefined : [call.dialogue, call.index],
  tool: call.tool,
  input: call.input ?? '',
  arguments: call.arguments ?? undefined,
  output: call.output ?? '',
  result: call.result ?? undefined,
  status: statusOf(call.status),
  durationMs: call.duration_ms ?? null,
  startedAt: call.started_at ?? undefined,
  verdict: verdictOf(call),
  ...elicitedOf(call),
  undone: call.undone ?? false,
})

function segmentsOf(before: Segment[], message: Message, id: string): Segment[] {
  let segments = before
  if (message.thinking) segments = [...segments, { kind: 'thinking', text: message.thinking }]
  if (message.content) segments = [...segments, { kind: 'text', text: message.content }]
  for (const [i, call] of (message.tool_calls ?? []).entries()) {
    segments = putStep(segments, stepOf(call, `${id}:${i}`))
  }
  return segments
}

/** For a session file of an earlier version, which has only the sentence. */
const UNTOLD = { code: 'error', retryable: true, about: {} }

function outcomeOfMessage(message: Message, failures: Failures): Outcome {
  if (message.error) {
    const { code, retryable, about = {} } = failures.get(message.work_id ?? '') ?? UNTOLD
    return { kind: 'error', message: message.error, code, retryable, about }
  }
  return outcomeOf({ reason: message.stop_reason ?? 'done', detail: null, by: message.stopped_by })
}

/** By work. */
type Sources = ReadonlyMap<string, AnswerSource>
/** Why works failed, by work. */
type Failures = ReadonlyMap<string, Failure>

/** What a history says about works, in addition to their messages. */
interface Works {
  sources: Sources
  failures: Failures
}

function addAssistant(entries: Entry[], message: Message, id: string, { sources, failures }: Works): void {
  const last = entries.at(-1)
  const workId = message.work_id ?? (last && last.kind !== 'summary' ? last.workId : id)
  const continues = last?.kind === 'assistant' && last.workId === workId
  const base: AssistantEntry = continues
    ? last
    : {
        ...openAssistant(workId),
        ...sources.get(workId),
        outcome: { kind: 'done' },
      }
  const entry = {
    ...base,
    segments: segmentsOf(base.segments, message, id),
    outcome: outcomeOfMessage(message, failures),
    messageIds: [...base.messageIds, id],
    createdAt: message.created_at ?? base.createdAt,
  }
  if (continues) entries[entries.length - 1] = entry
  else entries.push(entry)
}

/** Marks the running work as open, so that the frames that follow continue it. */
function reopen(entries: Entry[], workId: string, sources: Sources): void {
  const last = entries.at(-1)
  if (last?.kind === 'assistant' && last.workId === workId) {
    entries[entries.length - 1] = { ...last, outcome: { kind: 'running' } }
  } else entries.push({ ...openAssistant(workId), ...sources.get(workId) })
}

/** The id of a message; one without an id has its place in the whole history. */
const idAt = ({ messages, earlier }: History, i: number): string =>
  messages[i]?.id ?? `m${(earlier ?? 0) + i}`

export function fromHistory(history: History): Thread {
  const entries: Entry[] = []
  const sources: Sources = new Map(
    (history.works ?? []).map(({ work_id, model, instead_of, left_out }) => [
      work_id,
      { model, insteadOf: instead_of ?? null, leftOut: left_out },
    ]),
  )
  const failures: Failures = new Map((history.failures ?? []).map(failure => [failure.work_id, failure]))
  if (history.compressed_context) {
    entries.push({ kind: 'summary', id: 'summary', content: history.compressed_context })
  }
  for (const [i, message] of history.messages.entries()) {
    const id = idAt(history, i)
    if (message.role === 'user') {
      const workId = message.work_id ?? id
      entries.push({
        kind: 'user',
        id,
        workId,
        content: message.content ?? '',
        attachments: attachmentsOf(message, history.session_id),
        createdAt: message.created_at ?? null,
      })
    } else if (message.role === 'assistant') addAssistant(entries, message, id, { sources, failures })
  }
  if (history.running) reopen(entries, history.running.work_id, sources)
  addRetrieved(entries, history)
  return {
    ...emptyThread(history.session_id),
    title: history.title,
    parent: history.parent
      ? { sessionId: history.parent.session_id, messageId: history.parent.message_id }
      : null,
    entries,
    earlier: history.earlier ? { count: history.earlier, before: idAt(history, 0) } : null,
    branches: (history.branches ?? []).map(branch => ({
      id: branch.message_id,
      after: branch.after ?? null,
      createdAt: branch.created_at ?? null,
    })),
    chosen: history.chosen ?? {},
    projectId: history.project_id ?? null,
    todo: history.todo_list ?? null,
    taint: history.taint ?? [],
    pinned: history.pinned ?? [],
    withdrawn: history.withdrawn ?? [],
    queue: (history.queue ?? []).map(message => queuedOf(message, history.session_id)),
    lastEventId: history.last_event_id,
    running: history.running ? { workId: history.running.work_id } : null,
  }
}

/** Puts a page of earlier messages before those of a thread. A page of other messages changes nothing. */
export function withEarlier(thread: Thread, page: History, before: string): Thread {
  if (thread.earlier?.before !== before) return thread
  const older = fromHistory({ ...page, compressed_context: null, running: null })
  const [first, ...rest] = thread.entries
  // The summary stays at the top.
  const entries =
    first?.kind === 'summary' ? [first, ...older.entries, ...rest] : [...older.entries, ...thread.entries]
  return { ...thread, entries, earlier: older.earlier, withdrawn: [...older.withdrawn, ...thread.withdrawn] }
}

/** Puts the retrieved passages first in their answer. */
function addRetrieved(entries: Entry[], history: History): void {
  const works = new Map((history.retrieved ?? []).map(work => [work.work_id, work]))
  for (const [i, entry] of entries.entries()) {
    const found = entry.kind === 'assistant' ? works.get(entry.workId) : undefined
    if (entry.kind !== 'assistant' || found === undefined) continue
    const { hits, withheld } = found
    const card: Segment = { kind: 'retrieved', sessionId: history.session_id, hits, withheld }
    entries[i] = { ...entry, segments: [card, ...entry.segments] }
  }
}

/** Keeps the passages that this tab received for a work: the server's record would have to be loaded. */
export function keepRetrieval(fresh: Thread, seen: Thread): Thread {
  const found = new Map<string, Segment>()
  for (const entry of seen.entries) {
    if (entry.kind !== 'assistant') continue
    const card = entry.segments.find(s => s.kind === 'retrieval')
    if (card) found.set(entry.workId, card)
  }
  if (found.size === 0) return fresh
  const entries = fresh.entries.map(entry => {
    const card = entry.kind === 'assistant' ? found.get(entry.workId) : undefined
    const told = entry.kind === 'assistant' && entry.segments.some(s => s.kind === 'retrieval')
    return entry.kind === 'assistant' && card && !told
      ? { ...entry, segments: [card, ...entry.segments.filter(s => s.kind !== 'retrieved')] }
      : entry
  })
  return { ...fresh, entries }
}
