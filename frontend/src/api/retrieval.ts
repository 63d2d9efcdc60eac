/**
 * What the server says about searching: how a passage was found, what nearly was, how far the index is, and how the
 * retrieval tests came out. Written by hand until `schema.d.ts` has these shapes; the names are the server's.
 */
import type { components } from './schema'

type Schemas = components['schemas']

/** The folders that are indexed. */
export type SearchFolder = 'memory' | 'knowledge'

export interface TermScore {
  term: string
  /** What it adds to the BM25 score of the passage. */
  score: number
  /** How often it is in the passage. */
  times: number
  /** How many passages of the folder hold it. */
  texts: number
}

/** The words' side. `share` is the score between the candidates' best (1) and worst (0). */
export interface LexicalLeg {
  score: number
  rank: number
  share: number
  terms: TermScore[]
}

/** The meaning's side. */
export interface VectorLeg {
  cosine: number
  rank: number
  share: number
}

export interface How {
  /** Place, from 1. */
  rank: number
  /** What the order is made by, 0 to 1. */
  fused: number
  /** Absent: no word in common. */
  lexical?: LexicalLeg | null
  /** Absent: no vector (yet), or the side is off. */
  vector?: VectorLeg | null
}

export interface Hit extends Omit<Schemas['Hit'], 'lines'> {
  lines?: [number, number] | null
  page?: number | null
  /** Absent in what older servers wrote. */
  how?: How | null
}

export type NearMissReason =
  | 'no_shared_word'
  | 'weaker_words'
  | 'farther_meaning'
  | 'both_weaker'
  | 'no_vector_yet'
  | 'overlaps_a_hit'

export interface NearMiss {
  hit: Hit
  /** How far it is behind the last passage that was handed on, in fused points. */
  behind: number
  reason: NearMissReason
  /** One English sentence with the figures. */
  detail: string
}

export type WeightReason =
  | 'balanced'
  | 'no_model'
  | 'embedding'
  | 'unknown_language'
  | 'identifier'
  | 'quoted'
  | 'other_language'
  | 'no_word_found'
  | 'asked'

export interface Weights {
  lexical: number
  vector: number
  reason: WeightReason
}

/** A word of the question as it was searched; `texts` 0: no passage holds it. */
export interface QueryTerm {
  term: string
  texts: number
  idf: number
}

export interface Took {
  refresh: number
  lexical: number
  embed: number
  vector: number
  fuse: number
}

export interface Search {
  query: string
  folder: SearchFolder
  k: number
  weights: Weights
  terms: QueryTerm[]
  /** Words of the question that were left out. */
  ignored: string[]
  model?: { id: string; dimension: number } | null
  /** Passages that have a vector, of all. */
  embedded: { done: number; total: number }
  hits: Hit[]
  near_misses: NearMiss[]
  took_us: Took
}

/** What goes with the passages that were put before an answer: the hits stand in the frame itself. */
export type SearchNote = Pick<Search, 'weights' | 'terms' | 'near_misses' | 'took_us'> & Partial<Search>

/** `result.data` of `search_knowledge_base` and `search_memory`. */
export interface SearchData {
  query: string
  hits: Omit<Hit, 'text'>[]
  weights?: Weights | null
  near_misses?: NearMiss[] | null
}

export type IndexState = 'not_built' | 'building' | 'embedding' | 'ready'

export interface FolderStatus {
  folder: SearchFolder
  files: number
  chunks: number
  embedded: number
  state: IndexState
  done: number
  total: number
  unreadable: { path: string; reason: string }[]
  bytes_on_disk: number
}

export interface EmbeddingModel {
  id: string
  dimension: number
  state: 'absent' | 'unloaded' | 'loading' | 'ready' | 'failed'
  detail?: string | null
}

export interface RetrievalStatus {
  folders: FolderStatus[]
  model?: EmbeddingModel | null
}

export interface Chunk {
  id: string
  heading?: string | null
  lines: [number, number]
  /** First byte and the byte after the last, in the file as UTF-8. */
  range: [number, number]
  tokens: number
  text: string
  embedded: boolean
}

export interface FileChunks {
  path: string
  title?: string | null
  chunks: Chunk[]
}

export interface TestCase {
  /** In the file of tests, from 1. */
  line: number
  query: string
  file?: string | null
  heading?: string | null
  text?: string | null
}

export type FoundPlace = Pick<Hit, 'source' | 'heading' | 'lines' | 'score'>

export interface TestResult {
  line: number
  query: string
  /** `file › heading`. */
  expected: string
  /** Null: not among the first `k`. */
  rank: number | null
  found: FoundPlace[]
}

export interface TestChange {
  line: number
  query: string
  before: number | null
  now: number | null
}

export interface Report {
  folder: SearchFolder
  /** Unix seconds. */
  at: number
  k: number
  mode: string
  cases: number
  recall_at_k: number
  mrr: number
  latency_ms: { p50: number; p95: number }
  results: TestResult[]
  before?: { at: number; recall_at_k: number; mrr: number } | null
  worse: TestChange[]
  better: TestChange[]
}

export interface RetrievalTests {
  folder: SearchFolder
  /** Where the cases stand: `knowledge/tests.jsonl`. */
  path: string
  cases: TestCase[]
  problems: { line: number; message: string }[]
  last?: Report | null
}

export interface IndexNotice {
  type: 'index'
  folder: SearchFolder
  state: IndexState
  done: number
  total: number
}

type SchemaFrame = Schemas['Frame']
type Told<T extends SchemaFrame['type']> = Extract<SchemaFrame, { type: T }>

/** The frames as they are with these shapes in them. */
export type Frame =
  | Exclude<SchemaFrame, { type: 'retrieval' | 'tool_end' }>
  | (Omit<Told<'retrieval'>, 'results'> & { results: Hit[]; search?: SearchNote | null })
  | (Told<'tool_end'> & { result?: unknown })

export type Notice =
  | Exclude<Schemas['Notice'], { type: 'frame' }>
  | { type: 'frame'; session_id: string; frame: Frame }
  | IndexNotice
