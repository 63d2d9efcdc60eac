/**
 * What the server says about searching. Written by hand, under the names the server has for it, until `schema.d.ts` holds
 * these shapes; then the list in `types.ts` takes them from there, and what stays here is what a schema cannot say.
 */
import type { components } from './schema'

type Schemas = components['schemas']
type Span = [number, number]

/** The folders that are indexed. */
export type SearchFolder = 'memory' | 'knowledge'

export const folderNamed = (name: string): SearchFolder => (name === 'memory' ? 'memory' : 'knowledge')

export interface TermScore {
  /** A word, or two that stand together: `put + key`. */
  term: string
  /** What it adds to the BM25 score. */
  score: number
  times: number
  /** How many chunks hold it. */
  texts: number
}

/** `share`: the score between 0 and the best candidate's. */
export interface LexicalScore {
  score: number
  rank: number
  share: number
  terms: TermScore[]
}

/** `share`: the cosine between the worst and the best candidate's. */
export interface VectorScore {
  cosine: number
  rank: number
  share: number
}

export interface How {
  rank: number
  /**
   * How much the vector leg counts for this hit: its score is `vector_weight × vector.share + late.weight × late.share +
   * (1 − vector_weight − late.weight) × lexical.share`. An absent leg has the share 0, a vector that is still to be made the lexical share.
   */
  vector_weight?: number
  /** Absent: no word in common. */
  lexical?: LexicalScore | null
  /** Absent: no vector (yet), or the leg was not asked. */
  vector?: VectorScore | null
  /** Question and passage compared piece by piece; takes its weight from the words. Absent: it was not asked. */
  late?: LateScore | null
}

export interface LateScore {
  score: number
  share: number
  /** What it counts for this hit. */
  weight: number
}

export interface Hit {
  text: string
  /** 0 to 1. */
  score: number
  source: string
  heading?: string | null
  /** Absent where the file is no text (PDF, HTML). */
  lines?: Span | null
  /** First byte and the one after the last, of the text the file was read as. May begin in one chunk and end in another. */
  range?: Span
  /** Absent in what older servers wrote. */
  how?: How | null
}

export type Lost = 'no_shared_word' | 'weaker_words' | 'farther_meaning' | 'both_weaker' | 'no_vector_yet'

export interface NearMiss {
  hit: Hit
  /** Points behind the last hit. */
  behind: number
  reason: Lost
  /** One English sentence with the figures. */
  detail: string
}

export type WeightReason =
  | 'balanced'
  | 'no_model'
  | 'embedding'
  | 'embedding_failed'
  | 'unknown_language'
  | 'identifier'
  | 'quoted'
  | 'asked'

export interface Weights {
  lexical: number
  vector: number
  /** What the vector leg counts for texts in another script than the question. */
  other_script: number
  reason: WeightReason
}

export interface SearchedTerm {
  term: string
  /** How many chunks hold it; 0: none. */
  texts: number
  idf: number
}

/** Microseconds. */
export interface Took {
  refresh: number
  lexical: number
  embed: number
  vector: number
  fuse: number
}

export interface Search {
  query: string
  folder: string
  k: number
  weights: Weights
  terms: SearchedTerm[]
  /** Words of the question that were left out. */
  ignored: string[]
  model?: { id: string; dimension: number } | null
  embedded: { done: number; total: number }
  hits: Hit[]
  near_misses: NearMiss[]
  took_us: Took
}

export type IndexState = 'not_built' | 'building' | 'embedding' | 'ready'

export interface FolderStatus {
  folder: string
  files: number
  chunks: number
  embedded: number
  state: IndexState
  /** Files while building, chunks while embedding. */
  done: number
  total: number
  unreadable: { path: string; reason: string }[]
  bytes_on_disk: number
}

export interface EmbeddingModel {
  /** `unloaded`: no question needed it yet. */
  state: 'unloaded' | 'ready' | 'absent' | 'failed'
  id?: string | null
  dimension?: number | null
  detail?: string | null
}

export interface RetrievalStatus {
  folders: FolderStatus[]
  model: EmbeddingModel
}

export interface FileChunk {
  id: string
  heading?: string | null
  lines?: Span | null
  range: Span
  tokens: number
  text: string
  embedded: boolean
}

export interface FileChunks {
  path: string
  title: string
  chunks: FileChunk[]
}

export interface Case {
  line?: number
  query: string
  file?: string | null
  heading?: string | null
  text?: string | null
}

export interface CaseResult {
  line: number
  query: string
  expected: string
  /** Of the first right hit, which may be beyond the first `k`. */
  rank?: number | null
  found: Pick<Hit, 'source' | 'heading' | 'lines' | 'score'>[]
}

export interface Moved {
  line: number
  query: string
  before?: number | null
  now?: number | null
}

export interface Report {
  folder: string
  at: number
  k: number
  /** The embedding model's id, or `lexical`. */
  mode: string
  cases: number
  recall_at_k: number
  mrr: number
  latency_ms: { p50: number; p95: number }
  results: CaseResult[]
  before?: { at: number; recall_at_k: number; mrr: number } | null
  worse: Moved[]
  better: Moved[]
}

export interface RetrievalTests {
  folder: string
  path: string
  cases: Case[]
  problems: { line: number; message: string }[]
  last?: Report | null
}

export interface IndexNotice {
  type: 'index'
  folder: string
  state: IndexState
  done: number
  total: number
}

/** A hit as a tool's result keeps it: the model has read its text in the output. */
export type Place = Pick<Hit, 'source' | 'heading' | 'lines' | 'score' | 'how'>

/** `result.data` of `search_knowledge_base` and `search_memory`. */
export interface SearchData {
  query: string
  hits: Place[]
  weights?: Weights | null
  near_misses?: (Omit<NearMiss, 'hit'> & { hit: Place })[] | null
}

type SchemaFrame = Schemas['Frame']
type Told<T extends SchemaFrame['type']> = Extract<SchemaFrame, { type: T }>

/** The end of a tool call may carry the result that its history has. */
export type Frame =
  | Exclude<SchemaFrame, { type: 'retrieval' | 'tool_end' }>
  | (Omit<Told<'retrieval'>, 'results' | 'search'> & { results: Hit[]; search?: Search | null })
  | (Told<'tool_end'> & { result?: unknown })

export type Notice =
  | Exclude<Schemas['Notice'], { type: 'frame' }>
  | { type: 'frame'; session_id: string; frame: Frame }
  | IndexNotice
