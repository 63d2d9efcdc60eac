/** What a search tool answered, read from its result; anything of another shape is no search. */
import type { SearchData, SearchFolder } from '@/api/retrieval'
import type { Step } from '@/thread/model'

const FOLDERS: Record<string, SearchFolder> = { search_knowledge_base: 'knowledge', search_memory: 'memory' }

export const searchedFolder = (step: Step): SearchFolder | null => FOLDERS[step.tool] ?? null

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

export function searchDataOf(step: Step): SearchData | null {
  const data = isObject(step.result) ? step.result.data : null
  if (!isObject(data) || !Array.isArray(data.hits)) return null
  const whole = data.hits.every(hit => isObject(hit) && typeof hit.source === 'string')
  return whole ? (data as unknown as SearchData) : null
}
