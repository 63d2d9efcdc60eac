/** The branches of a conversation: for each message of a person, those at the same place. */
import type { Branch, Entry, Thread } from './model'

const lastIdOf = (entry: Entry | undefined): string | null => {
  if (entry?.kind === 'user') return entry.id
  return entry?.kind === 'assistant' ? (entry.messageIds.at(-1) ?? null) : null
}

/** In the order they were asked, including the entry itself. */
export function branchesAt(thread: Thread, at: number): string[] {
  const entry = thread.entries[at]
  if (entry?.kind !== 'user') return []
  const after = lastIdOf(thread.entries[at - 1])
  const others = thread.branches.filter(branch => branch.after === after)
  const here: Branch = { id: entry.id, after, createdAt: entry.createdAt }
  // A message that was just sent has no time yet: it is the newest.
  const time = ({ createdAt }: Branch) => createdAt ?? Number.POSITIVE_INFINITY
  return [...others, here].toSorted((a, b) => time(a) - time(b)).map(branch => branch.id)
}
