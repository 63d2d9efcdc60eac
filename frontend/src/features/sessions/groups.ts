import type { SessionSummary } from '@/api/types'
import { isToday } from '@/lib/format'

export interface Group {
  name: 'pinned' | 'today' | 'earlier' | 'archived'
  sessions: SessionSummary[]
}

/** What a person said of the list, by ids. One may be that of a session that is gone. */
export interface Kept {
  pinned: readonly string[]
  archived: readonly string[]
}

/** What works or waits for a person is never out of sight. */
const isBusy = ({ state }: SessionSummary): boolean => state === 'running' || state === 'approval'

/** The pinned ones first, as they were pinned; then by day; archived ones last. */
export function groupsOf(sessions: readonly SessionSummary[], kept: Kept, now: Date): Group[] {
  const archived = new Set(kept.archived)
  const isArchived = (session: SessionSummary) => archived.has(session.id) && !isBusy(session)
  const listed = sessions.filter(session => !isArchived(session))
  const known = new Map(listed.map(session => [session.id, session]))
  const rest = listed.filter(session => !kept.pinned.includes(session.id))
  const groups: Group[] = [
    { name: 'pinned', sessions: kept.pinned.flatMap(id => known.get(id) ?? []) },
    { name: 'today', sessions: rest.filter(session => isToday(session.updated_at, now)) },
    { name: 'earlier', sessions: rest.filter(session => !isToday(session.updated_at, now)) },
    { name: 'archived', sessions: sessions.filter(isArchived) },
  ]
  return groups.filter(group => group.sessions.length > 0)
}

/** Ids from one session to another, as they stand in the list; the last one alone where the first is not in sight. */
export function between(groups: readonly Group[], from: string, to: string): string[] {
  const ids = groups.flatMap(group => group.sessions.map(session => session.id))
  const [a, b] = [ids.indexOf(from), ids.indexOf(to)]
  return a < 0 || b < 0 ? [to] : ids.slice(Math.min(a, b), Math.max(a, b) + 1)
}
