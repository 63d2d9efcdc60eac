/** What an operation of a session says of itself. */
import type { Operation } from '@/api/types'

export type Became = 'done' | 'failed' | 'undone' | 'none'

interface Result {
  message: string
  /** It changed files, and the change is kept for an undo. */
  undo: boolean
  failed: boolean
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** The parts of a tool's result that are shown; null while there is none, or if it has another form. */
export function resultOf({ result }: Operation): Result | null {
  if (!isObject(result)) return null
  const { status, message, data } = result
  return {
    message: typeof message === 'string' ? message : '',
    undo: isObject(data) && data.undo === true,
    failed: status === 1,
  }
}

/** What became of an operation. */
export function became(operation: Operation): Became {
  if (operation.operation_status === 1) return 'undone'
  const result = resultOf(operation)
  return result === null ? 'none' : result.failed ? 'failed' : 'done'
}

/** It changed files, and the change stands. */
export const isStanding = (operation: Operation): boolean =>
  operation.operation_status === 0 && resultOf(operation)?.undo === true
