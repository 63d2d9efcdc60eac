/** A person's answer to a pending call. The server's types for approvals are in the schema. */
export type Answer =
  | { decision: 'approve'; arguments?: unknown }
  | { decision: 'always' }
  | { decision: 'deny'; reason?: string }
