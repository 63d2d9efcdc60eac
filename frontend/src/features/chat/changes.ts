/** The files that the calls of an answer changed. */
import { FileRef } from '@/lib/roots'
import type { AssistantEntry, Step } from '@/thread/model'

export interface Change {
  callId: string
  path: string
  added: number
  removed: number
  undone: boolean
  /** The call deleted the file. */
  deleted: boolean
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** The change that a step made; null unless its result says that it can be undone. */
function changeOf(step: Step): Change | null {
  const data = isObject(step.result) ? step.result.data : null
  if (step.status !== 'done' || !isObject(data) || data.undo !== true) return null
  const { path, added, removed } = data
  if (typeof path !== 'string') return null
  const { id: callId, undone, tool } = step
  const deleted = tool === 'delete_file'
  return { callId, path, added: Number(added), removed: Number(removed), undone, deleted }
}

export const changesOf = (entry: AssistantEntry): Change[] =>
  entry.segments.flatMap(s => (s.kind === 'tools' ? s.steps.flatMap(step => changeOf(step) ?? []) : []))

/**
 * The calls whose files can be compared with their text before the answer: the last call that changed each file, without
 * changes that are undone and without files that the answer deleted.
 */
export function reviewableIn(changes: readonly Change[]): ReadonlySet<string> {
  const last = new Map(changes.filter(({ undone }) => !undone).map(change => [change.path, change]))
  const left = [...last.values()].filter(({ path, deleted }) => !deleted && FileRef.parse(path))
  return new Set(left.map(({ callId }) => callId))
}
