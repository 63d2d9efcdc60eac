/**
 * What the server says while a tool call waits for a person. Written by hand, under the server's names, until
 * `schema.d.ts` holds these shapes; then `types.ts` takes them from there.
 */

/** What the call would do, as a person is shown it. Its texts come with invisible characters escaped. */
export interface Shown {
  command?: string | null
  cwd?: string | null
  network?: boolean
  /** The sandbox's. */
  level?: string
  /** A file's change as a unified diff. */
  diff?: string | null
  path?: string | null
}

export interface Approval {
  id: string
  session_id: string
  work_id: string
  call_id: string
  tool: string
  effect: 'read' | 'write' | 'execute' | 'network'
  arguments: unknown
  shown: Shown
  /** Why it is asked, one sentence. */
  reason: string
  /** Over everything that would run; an answer to another hash is refused. */
  hash: string
  /** Unix seconds. */
  asked_at: number
  expires_at: number
}

export type Decision = 'approved' | 'denied' | 'expired' | 'cancelled'
export type Scope = 'once' | 'always'

export interface ApprovalResult {
  approval_id: string
  call_id: string
  decision: Decision
  scope: Scope
  reason?: string | null
  /** What a person made of the arguments; null where they stand as they were. */
  arguments?: unknown
}

export type ApprovalFrame =
  | ({ type: 'approval_request' } & Approval)
  | ({ type: 'approval_result' } & ApprovalResult)

/** As the history keeps it with the call. */
export interface Answered {
  id: string
  decision: Decision
  scope: Scope
  reason?: string | null
  changed: boolean
}

/** What a person answers. */
export type Answer =
  | { decision: 'approve'; arguments?: unknown }
  | { decision: 'always' }
  | { decision: 'deny'; reason?: string }

/** Something that is allowed without asking: exactly this input, to exactly this tool. */
export interface AlwaysRule {
  id: string
  tool: string
  arguments: unknown
  added_at: number
}
