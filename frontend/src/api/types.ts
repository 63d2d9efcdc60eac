import type { components } from './schema'

type Schemas = components['schemas']

export type ModelStatus = Schemas['ModelStatus']
export type SessionSummary = Schemas['SessionSummary']
export type Message = Schemas['Message']
export type ToolCall = Schemas['ToolCall']
export type FileEntry = Schemas['FileEntry']
export type Skill = Schemas['Skill']
export type Status = Schemas['Status']
export type History = Schemas['History']

export type {
  Case as TestCase,
  CaseResult as TestResult,
  EmbeddingModel,
  FileChunk as Chunk,
  FileChunks,
  FolderStatus,
  Frame,
  Hit,
  How,
  IndexNotice,
  IndexState,
  LexicalScore,
  Lost,
  Moved as TestChange,
  NearMiss,
  Notice,
  Report,
  RetrievalStatus,
  RetrievalTests,
  Search,
  SearchedTerm,
  Took,
  WeightReason,
  Weights,
} from './retrieval'
