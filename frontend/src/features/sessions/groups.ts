import type { SessionSummary } from '@/api/types'
import { isToday } from '@/lib/format'

export interface Group {
  name: 'pinned' | 'today' | 'earlier' | 'archived'
  sessions: SessionSummary[]
}

/** Ids of the sessions that a person pinned or archived. Some may refer to deleted sessions. */
export interface Kept {
  pinned: readonly string[]
  archived: readonly string[]
}

/** A session that runs or waits for a person is never hidden among the archived ones. */
const isBusy = ({ state }: SessionSummary): boolean => state === 'running' || state === 'approval'

/** The pinned sessions first, in pinned order; then by day; archived ones last. */
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

/** Ids from one session to another, in list order; only the last one if either is not in the list. */
export function between(groups: readonly Group[], from: string, to: string): string[] {
  const ids = groups.flatMap(group => group.sessions.map(session => session.id))
  const [a, b] = [ids.indexOf(from), ids.indexOf(to)]
  return a < 0 || b < 0 ? [to] : ids.slice(Math.min(a, b), Math.max(a, b) + 1)
}
