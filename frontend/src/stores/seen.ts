/** The read state of each conversation in this browser: its number of messages when it was last on the screen. */
import { create } from 'zustand'
import type { SessionSummary } from '@/api/types'
import { store, stored } from '@/lib/storage'

type Counts = Record<string, number>

function kept(): Counts | null {
  try {
    const counts: unknown = JSON.parse(stored('seen') ?? 'null')
    return typeof counts === 'object' ? (counts as Counts | null) : null
  } catch {
    return null
  }
}

/** Null before the first list arrives: everything in that list counts as read. */
export const useSeen = create<{ counts: Counts | null }>(() => ({ counts: kept() }))

/** Number of conversations that are not in the list whose read state is kept: one that was deleted may come back. */
const ABSENT = 100

function absent(counts: Counts, sessions: SessionSummary[]): [string, number][] {
  const listed = new Set(sessions.map(({ id }) => id))
  return Object.entries(counts)
    .filter(([id]) => !listed.has(id))
    .slice(-ABSENT)
}

/** The read state after a list arrives while `current` is on the screen; null if nothing changes. */
export function look(
  counts: Counts | null,
  sessions: SessionSummary[],
  current: string | null,
): Counts | null {
  const next: Counts = Object.fromEntries(absent(counts ?? {}, sessions))
  for (const { id, message_count } of sessions) {
    const before = counts === null || id === current ? message_count : counts[id]
    if (before !== undefined) next[id] = before
  }
  const same = counts && Object.keys(counts).length === Object.keys(next).length
  return same && Object.entries(next).every(([id, n]) => counts[id] === n) ? null : next
}

export function see(sessions: SessionSummary[], current: string | null): void {
  const counts = look(useSeen.getState().counts, sessions, current)
  if (!counts) return
  useSeen.setState({ counts })
  store('seen', JSON.stringify(counts))
}

/** Whether a conversation has grown since it was last on the screen, and its work has ended. */
export const isUnread = (counts: Counts | null, { id, message_count, state }: SessionSummary): boolean =>
  counts !== null && (state === 'idle' || state === 'error') && message_count > (counts[id] ?? 0)
