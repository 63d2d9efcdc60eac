/** A person's answer to a pending call. The server's types for approvals are in the schema. */
export type Answer =
  | { decision: 'approve'; arguments?: unknown; content?: Record<string, unknown> }
  | { decision: 'always' }
  /** Every page of the same host. */
  | { decision: 'always_host' }
  | { decision: 'deny'; reason?: string }
  /** Leaves what a server asks for without a choice. */
  | { decision: 'dismiss' }
