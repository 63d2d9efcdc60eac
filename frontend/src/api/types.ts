import type { components } from './schema'

export type { Frame, Hit, Notice } from './retrieval'

type Schemas = components['schemas']

export type ModelStatus = Schemas['ModelStatus']
export type SessionSummary = Schemas['SessionSummary']
export type Message = Schemas['Message']
export type ToolCall = Schemas['ToolCall']
export type FileEntry = Schemas['FileEntry']
export type Skill = Schemas['Skill']
export type Status = Schemas['Status']
export type History = Schemas['History']
