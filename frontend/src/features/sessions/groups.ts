import type { SessionSummary } from '@/api/types'
import { isToday } from '@/lib/format'

export interface Group {
  name: 'pinned' | 'today' | 'earlier'
  sessions: SessionSummary[]
}

/** The pinned ones first, as they were pinned; then by day. */
export function groupsOf(sessions: readonly SessionSummary[], pinned: readonly string[], now: Date): Group[] {
  const known = new Map(sessions.map(session => [session.id, session]))
  const first = pinned.flatMap(id => known.get(id) ?? [])
  const rest = sessions.filter(session => !pinned.includes(session.id))
  const groups: Group[] = [
    { name: 'pinned', sessions: first },
    { name: 'today', sessions: rest.filter(session => isToday(session.updated_at, now)) },
    { name: 'earlier', sessions: rest.filter(session => !isToday(session.updated_at, now)) },
  ]
  return groups.filter(group => group.sessions.length > 0)
}
