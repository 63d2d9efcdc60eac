import type { ApprovalFrame } from './approvals'
import type { components } from './schema'

type Schemas = components['schemas']

export type ModelStatus = Schemas['ModelStatus']
export type SessionSummary = Schemas['SessionSummary']
export type SessionList = Schemas['SessionList']
export type FoundSessions = Schemas['FoundSessions']
export type FoundSession = Schemas['FoundSession']
export type Archive = Schemas['Archive']
export type DeletedSession = Schemas['DeletedSession']
export type Message = Schemas['Message']
export type ToolCall = Schemas['ToolCall']
export type FileEntry = Schemas['FileEntry']
export type Skill = Schemas['Skill']
export type Status = Schemas['Status']
export type History = Schemas['History']

export type Frame = Schemas['Frame'] | ApprovalFrame
export type Notice =
  | Exclude<Schemas['Notice'], { type: 'frame' }>
  | { type: 'frame'; session_id: string; frame: Frame }
export type IndexNotice = Extract<Notice, { type: 'index' }>

export type Search = Schemas['Search']
export type Hit = Schemas['Hit']
export type How = Schemas['How']
export type LexicalScore = Schemas['LexicalScore']
export type NearMiss = Schemas['NearMiss']
export type Lost = Schemas['Lost']
export type SearchedTerm = Schemas['SearchedTerm']
export type Took = Schemas['Took']
export type WeightReason = Schemas['WeightReason']
export type Weights = Schemas['Weights']
export type Chunk = Schemas['FileChunk']
export type FileChunks = Schemas['FileChunks']
export type EmbeddingModel = Schemas['EmbeddingModel']
export type FolderStatus = Schemas['FolderStatus']
export type IndexState = Schemas['IndexState']
export type RetrievalStatus = Schemas['RetrievalStatus']
export type RetrievalTests = Schemas['RetrievalTests']
export type TestCase = Schemas['Case']
export type TestResult = Schemas['CaseResult']
export type TestChange = Schemas['Moved']
export type Report = Schemas['Report']
