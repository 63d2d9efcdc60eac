/** Reads the result of a search tool; null for any other shape. */
import type { SearchData } from '@/api/retrieval'
import type { Step } from '@/thread/model'

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

export function searchDataOf(step: Step): SearchData | null {
  const data = isObject(step.result) ? step.result.data : null
  if (!isObject(data) || !Array.isArray(data.hits)) return null
  const withheld = Array.isArray(data.withheld) ? data.withheld : []
  const whole = [...data.hits, ...withheld].every(hit => isObject(hit) && typeof hit.source === 'string')
  return whole ? (data as unknown as SearchData) : null
}
