/**
 * A thread is what a person sees of one session: what was asked, and what each work has said and done so far. It is a
 * pure function of the history and the frames that follow it; nothing here uses a clock or the network.
 */
import type {
  Chosen,
  Decision,
  Hit,
  InputProgress,
  PinnedMessage,
  Scope,
  Search,
  Taint,
  TodoList,
} from '@/api/types'

const STEP_STATUSES = ['running', 'done', 'error', 'cancelled', 'interrupted', 'approval', 'denied'] as const
export type StepStatus = (typeof STEP_STATUSES)[number]

/** The status of a call as the page shows it: one that only a newer server knows counts as done. */
export const statusOf = (status: string | null | undefined): StepStatus =>
  STEP_STATUSES.find(known => known === status) ?? 'done'

/** The answer to a pending call, by a person or by its expiry. */
export interface Verdict {
  decision: Decision
  scope: Scope
  reason: string | null
  /** A person edited the input. */
  changed: boolean
}

/** What a person answered to the server of a tool while it carried out a call. */
export interface ElicitedAnswer {
  server: string
  action: 'accept' | 'decline' | 'cancel'
  content: Readonly<Record<string, unknown>>
}

export interface Step {
  id: string
  /** Its exchange and its place among the calls of that exchange, if the server has told them. */
  place?: readonly [dialogue: number, index: number] | undefined
  tool: string
  input: string
  arguments: unknown
  output: string
  /** `{status, message, data, operationCode}`; undefined if the server sent only the output. */
  result: unknown
  status: StepStatus
  durationMs: number | null
  /** Unix seconds, if a history has told it. */
  startedAt?: number | undefined
  /** Null if no approval was needed. */
  verdict: Verdict | null
  elicited?: readonly ElicitedAnswer[] | undefined
  /** The server that waits for an answer. */
  asking?: string | undefined
  /** A person undid the change that it made. */
  undone: boolean
}

export type Segment =
  | { kind: 'retrieval'; query: string; hits: Hit[]; search: Search }
  /** The same, as the server keeps it: the passages are loaded on demand. */
  | { kind: 'retrieved'; sessionId: string; hits: number; withheld: number }
  | { kind: 'thinking'; text: string }
  | { kind: 'text'; text: string }
  | { kind: 'tools'; steps: Step[] }

export type Outcome =
  | { kind: 'running' }
  | { kind: 'done' }
  | { kind: 'stopped'; by: 'person' | 'server' }
  | { kind: 'cut'; reason: string; detail: string | null }
  /** `about`: the values that the sentence names, by name. */
  | {
      kind: 'error'
      message: string
      code: string
      retryable: boolean
      about: Readonly<Record<string, string>>
    }

/** The metadata of a picture. Sizes are pixels. */
export interface Picture {
  type: string
  /** Where the server keeps it; null for a picture that is not sent yet. */
  kept: { hash: string; url: string } | null
  bytes: number
  width: number
  height: number
}

/** A text file or a picture attached to a message. */
export interface Attachment {
  name: string
  /** Without the dot. */
  extension: string
  /** For a picture, its bytes in base64 until it is sent, then empty. */
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

/** What an answer was made with. */
export interface AnswerSource {
  /** The model that was asked, as the provider names it; null if unknown. */
  model: string | null
  /** The model that did not answer, if `model` was asked instead. */
  insteadOf: string | null
  /** Number of the session's messages that were not sent for it, because they did not fit. */
  leftOut: number
}

export interface AssistantEntry extends AnswerSource {
  kind: 'assistant'
  id: string
  workId: string
  segments: Segment[]
  outcome: Outcome
  /** Ids of its messages, as far as a history has reported them. */
  messageIds: readonly string[]
  /** Unix seconds of its last message; null while no history has reported it. */
  createdAt: number | null
  /** The next delta opens a new segment even if the last one is of the same kind. */
  fresh: boolean
}

/** The summary of the older part of the conversation. */
export interface SummaryEntry {
  kind: 'summary'
  id: string
  content: string
}

export type Entry = UserEntry | AssistantEntry | SummaryEntry

/** What the server does before text arrives; replaced by the next frame. */
export interface Activity {
  kind: string
  message: string
  progress: number | null
  /** The call that the model is writing, as far as it has arrived. */
  writing: InputProgress | null
}

export interface Usage {
  inputTokens: number
  outputTokens: number
  contextWindow: number
}

/** A branch of the conversation that is not shown. */
export interface Branch {
  /** The id of its first message. */
  id: string
  /** The message it follows; null if it is the first. */
  after: string | null
  createdAt: number | null
}

/** The message at which a session was branched off another; either may have been deleted. */
export interface Parent {
  sessionId: string
  messageId: string
}

export interface Thread {
  sessionId: string
  title: string
  /** Null if it was not branched off. */
  parent: Parent | null
  entries: Entry[]
  /** Null if the thread has all messages. */
  earlier: Earlier | null
  /** Id of the last frame that is part of this thread. */
  lastEventId: string | null
  running: { workId: string } | null
  activity: Activity | null
  usage: Usage | null
  branches: readonly Branch[]
  /** The choice of model for the next messages. */
  chosen: Chosen
  /** The project that the tools work in; null if they work in the home. */
  projectId: string | null
  /** The list of tasks that the model keeps; null if there is none. */
  todo: TodoList | null
  /** The sources of its text that strangers may have written. */
  taint: readonly Taint[]
  /** In the order in which they are sent. */
  queue: readonly QueuedMessage[]
  /** Messages whose text every request contains. */
  pinned: readonly PinnedMessage[]
  /** Ids of works that a person has withdrawn: no request contains their messages. */
  withdrawn: readonly string[]
}

/** The messages before those of a thread, which are loaded when they are wanted. */
export interface Earlier {
  count: number
  /** The id of the thread's first message, before which they are. */
  before: string
}

/** A message that is sent after the run under way. */
export interface QueuedMessage {
  id: string
  content: string
  attachments: readonly Attachment[]
}

export const emptyThread = (sessionId: string): Thread => ({
  sessionId,
  title: '',
  parent: null,
  entries: [],
  earlier: null,
  lastEventId: null,
  running: null,
  activity: null,
  usage: null,
  branches: [],
  chosen: {},
  projectId: null,
  todo: null,
  taint: [],
  queue: [],
  pinned: [],
  withdrawn: [],
})
