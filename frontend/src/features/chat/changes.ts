/** The files that the calls of an answer changed. */
import type { AssistantEntry, Step } from '@/thread/model'

export interface Change {
  callId: string
  path: string
  added: number
  removed: number
  undone: boolean
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** The change that a step made; null unless its result says that it can be undone. */
function changeOf(step: Step): Change | null {
  const data = isObject(step.result) ? step.result.data : null
  if (step.status !== 'done' || !isObject(data) || data.undo !== true) return null
  const { path, added, removed } = data
  if (typeof path !== 'string') return null
  return { callId: step.id, path, added: Number(added), removed: Number(removed), undone: step.undone }
}

export const changesOf = (entry: AssistantEntry): Change[] =>
  entry.segments.flatMap(s => (s.kind === 'tools' ? s.steps.flatMap(step => changeOf(step) ?? []) : []))
