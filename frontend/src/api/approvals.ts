/** What a person answers to a call that waits; what the server tells of approvals stands in the schema. */
export type Answer =
  | { decision: 'approve'; arguments?: unknown }
  | { decision: 'always' }
  | { decision: 'deny'; reason?: string }
