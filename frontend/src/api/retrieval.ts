/** What is said about searching and stands in no schema, because it travels as the open `result` of a tool or as a word. */
import { FileRef } from '@/lib/roots'
import type { components } from './schema'

type Schemas = components['schemas']

/** The folders that are indexed. */
export type SearchFolder = 'memory' | 'knowledge'

export const folderNamed = (name: string): SearchFolder => (name === 'memory' ? 'memory' : 'knowledge')

/** The tests of a folder, which are a file in it. */
export const testsOf = (folder: SearchFolder): FileRef => FileRef.of(folder, 'tests.jsonl')

/** A hit as a tool's result keeps it: the model has read its text in the output. */
export type Place = Pick<Schemas['Hit'], 'source' | 'heading' | 'lines' | 'range' | 'score' | 'how'>

/** `result.data` of `search_knowledge_base` and `search_memory`. */
export interface SearchData {
  query: string
  hits: Place[]
  weights?: Schemas['Weights'] | null
  near_misses?: (Omit<Schemas['NearMiss'], 'hit'> & { hit: Place })[] | null
}
