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
  /** Number of files that the call changed, all of which an undo of it concerns; on the first of them. */
  together: number
  /** Number of further files that the call changed but did not list; on the last of those that it did. */
  more: number
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** The changes that a step made; none unless its result says that they can be undone. A step may fail in part. */
function changesOfStep(step: Step): Change[] {
  const data = isObject(step.result) ? step.result.data : null
  const ended = step.status === 'done' || step.status === 'error'
  if (!ended || !isObject(data) || data.undo !== true) return []
  const { id: callId, undone, tool } = step
  const files = Array.isArray(data.changes) ? data.changes : [data]
  const changes = files.flatMap(file => {
    if (!isObject(file) || typeof file.path !== 'string') return []
    const { path, added, removed } = file
    const deleted = typeof file.deleted === 'boolean' ? file.deleted : tool === 'delete_file'
    return [
      { callId, path, added: Number(added), removed: Number(removed), undone, deleted, together: 0, more: 0 },
    ]
  })
  const total = Math.max(changes.length, Number(data.changed_count ?? 0) || 0)
  return changes.map((change, at) => ({
    ...change,
    together: at === 0 ? total : 0,
    more: at === changes.length - 1 ? total - changes.length : 0,
  }))
}

/** The number of files that changed: each once, however often it was changed. */
export const fileCount = (changes: readonly Change[]): number =>
  new Set(changes.map(({ path }) => path)).size + changes.reduce((sum, { more }) => sum + more, 0)

export const changesOf = (entry: AssistantEntry): Change[] =>
  entry.segments.flatMap(s => (s.kind === 'tools' ? s.steps.flatMap(changesOfStep) : []))

/**
 * The changes whose files can be compared with their text before the answer: the last one of each file, without
 * changes that are undone and without files that the answer deleted.
 */
export function reviewableIn(changes: readonly Change[]): ReadonlySet<Change> {
  const last = new Map(changes.filter(({ undone }) => !undone).map(change => [change.path, change]))
  return new Set([...last.values()].filter(({ path, deleted }) => !deleted && FileRef.parse(path)))
}
