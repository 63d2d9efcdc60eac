/**
 * Types of retrieval data that the schema lacks, because the data travels in the open `result` of a tool or as a
 * string.
 */
import { FileRef, type SearchFolder } from '@/lib/roots'
import type { components } from './schema'

type Schemas = components['schemas']

/** The retrieval tests of a folder: a file in that folder. */
export const testsOf = (folder: SearchFolder): FileRef => FileRef.of(folder, 'tests.jsonl')

/** A hit in a tool's result, without its text: the model has read that in the output. */
export type Place = Pick<
  Schemas['Hit'],
  'source' | 'heading' | 'lines' | 'range' | 'score' | 'weak' | 'how'
> & {
  /** Of a hit in a conversation. */
  session_id?: string
  title?: string
  messages?: { message_id: string }[]
}

/** `result.data` of `search_knowledge_base` and `search_memory`. */
export interface SearchData {
  query: string
  hits: Place[]
  /** Weak hits that the model did not receive. */
  withheld?: Place[] | null
  weights?: Schemas['Weights'] | null
  near_misses?: (Omit<Schemas['NearMiss'], 'hit'> & { hit: Place })[] | null
}
