/** The labels of conversations, by the ids of the conversations. */
export type Labels = Readonly<Record<string, readonly string[]>>

/** Every label that a conversation has, sorted. */
export const allLabels = (labels: Labels): string[] =>
  [...new Set(Object.values(labels).flat())].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }))
