/** How far each conversation was read in this browser: the number of its messages when it was last on the screen. */
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

/** Null before the first list has come: what is there then counts as read. */
export const useSeen = create<{ counts: Counts | null }>(() => ({ counts: kept() }))

/** What was read, once this list is there and `current` is on the screen: null where nothing is new. */
export function look(
  counts: Counts | null,
  sessions: SessionSummary[],
  current: string | null,
): Counts | null {
  const next: Counts = {}
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

/** It has grown since it was last on the screen, and is done with that. */
export const isUnread = (counts: Counts | null, { id, message_count, state }: SessionSummary): boolean =>
  counts !== null && (state === 'idle' || state === 'error') && message_count > (counts[id] ?? 0)
