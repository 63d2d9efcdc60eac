import type { components } from './schema'

type Schemas = components['schemas']

export type ModelStatus = Schemas['ModelStatus']
export type SessionSummary = Schemas['SessionSummary']
export type Message = Schemas['Message']
export type ToolCall = Schemas['ToolCall']
export type Hit = Schemas['Hit']
export type FileEntry = Schemas['FileEntry']
export type Skill = Schemas['Skill']
export type Frame = Schemas['Frame']
export type Notice = Schemas['Notice']
export type Status = Schemas['Status']
export type History = Schemas['History']
