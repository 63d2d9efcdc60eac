/**
 * A thread is what a person sees of one session: what was asked, and what each work has said and done so far.
 * It is a pure function of the history and the frames that follow it; nothing here knows a clock or the network.
 */
import type { Chosen, Decision, Hit, InputProgress, Scope, Search, Taint } from '@/api/types'

export type StepStatus = 'running' | 'done' | 'error' | 'cancelled' | 'interrupted' | 'approval' | 'denied'

/** How a person, or nobody in time, answered when it was asked whether a call may run. */
export interface Verdict {
  decision: Decision
  scope: Scope
  reason: string | null
  /** A person changed the input. */
  changed: boolean
}

export interface Step {
  id: string
  tool: string
  input: string
  arguments: unknown
  output: string
  /** `{status, message, data, operationCode}`; undefined where the server told only the output. */
  result: unknown
  status: StepStatus
  durationMs: number | null
  /** Null where nobody was asked. */
  verdict: Verdict | null
  /** A person took back the change that it made. */
  undone: boolean
}

export type Segment =
  | { kind: 'retrieval'; query: string; hits: Hit[]; search: Search }
  /** The same, as the server keeps it: it is read when somebody looks. */
  | { kind: 'retrieved'; sessionId: string; hits: number }
  | { kind: 'thinking'; text: string }
  | { kind: 'text'; text: string }
  | { kind: 'tools'; steps: Step[] }

export type Outcome =
  | { kind: 'running' }
  | { kind: 'done' }
  | { kind: 'stopped'; by: 'person' | 'server' }
  | { kind: 'cut'; reason: string; detail: string | null }
  /** `about`: what the sentence speaks of, by name. */
  | {
      kind: 'error'
      message: string
      code: string
      retryable: boolean
      about: Readonly<Record<string, string>>
    }

/** What is known of a picture before it is looked at. Sizes are pixels. */
export interface Picture {
  type: string
  /** Where the server keeps it; null for one that was not sent yet. */
  kept: { hash: string; url: string } | null
  bytes: number
  width: number
  height: number
}

/** A text file or a picture that went along with a message. */
export interface Attachment {
  name: string
  /** Without the dot. */
  extension: string
  /** Of a picture that was not sent yet its bytes in base64; of one that was, nothing. */
  content: string
  picture?: Picture | undefined
}

export interface UserEntry {
  kind: 'user'
  id: string
  workId: string
  content: string
  attachments: readonly Attachment[]
  createdAt: number | null
}

export interface AssistantEntry {
  kind: 'assistant'
  id: string
  workId: string
  segments: Segment[]
  outcome: Outcome
  /** Who was asked, as the provider calls it; null where that is not known. */
  model: string | null
  /** The model that did not answer, where `model` was asked in its place. */
  insteadOf: string | null
  /** Ids of its messages, as far as a history told them. */
  messageIds: readonly string[]
  /** The next delta opens a new segment even when the last one is of its kind. */
  fresh: boolean
}

/** The older part of the conversation, after it was compressed. */
export interface SummaryEntry {
  kind: 'summary'
  id: string
  content: string
}

export type Entry = UserEntry | AssistantEntry | SummaryEntry

/** What the server is busy with before words come; replaced by the next frame. */
export interface Activity {
  kind: string
  message: string
  progress: number | null
  /** The call that the model is writing, as far as it is. */
  writing: InputProgress | null
}

export interface Usage {
  inputTokens: number
  outputTokens: number
  contextWindow: number
}

/** A way the conversation has gone before. */
export interface Branch {
  /** Its first message. */
  id: string
  /** The message it follows; null where it is the first. */
  after: string | null
  createdAt: number | null
}

/** The message at which a session was branched off another; either may be gone by now. */
export interface Parent {
  sessionId: string
  messageId: string
}

export interface Thread {
  sessionId: string
  title: string
  /** Null where it was not branched off. */
  parent: Parent | null
  entries: Entry[]
  /** Id of the last frame that is part of this thread. */
  lastEventId: string | null
  running: { workId: string } | null
  activity: Activity | null
  usage: Usage | null
  branches: readonly Branch[]
  /** For what is said from now on. */
  chosen: Chosen
  /** Where it has text from that strangers may have written. */
  taint: readonly Taint[]
}

export const emptyThread = (sessionId: string): Thread => ({
  sessionId,
  title: '',
  parent: null,
  entries: [],
  lastEventId: null,
  running: null,
  activity: null,
  usage: null,
  branches: [],
  chosen: {},
  taint: [],
})
