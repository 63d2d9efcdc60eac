import type { SessionSummary } from '@/api/types'
import { isUnread, type useSeen } from '@/stores/seen'
import { type Arrangement, labelOf } from './arrangement'
import type { Labels } from './labels'

export interface Group {
  /** `month` is one of several: its sessions say which. */
  name: 'pinned' | 'today' | 'yesterday' | 'week' | 'month' | 'all' | 'archived'
  sessions: SessionSummary[]
}

/** Ids of the sessions that a person pinned or archived. Some may refer to deleted sessions. */
export interface Kept {
  pinned: readonly string[]
  archived: readonly string[]
  labels: Labels
}

/** A session that runs or waits for a person is never hidden among the archived ones. */
const isBusy = ({ state }: SessionSummary): boolean => state === 'running' || state === 'approval'

const nameOf = (session: SessionSummary): string => session.title || session.begins || ''

/** When a session counts as having happened, by the order of the list. */
export const timeOf = (session: SessionSummary, sort: Arrangement['sort']): number =>
  sort === 'created' ? session.created_at : session.updated_at

function sorted(sessions: readonly SessionSummary[], sort: Arrangement['sort']): SessionSummary[] {
  if (sort === 'title') {
    return sessions.toSorted((a, b) => nameOf(a).localeCompare(nameOf(b), undefined, { numeric: true }))
  }
  return sessions.toSorted((a, b) => timeOf(b, sort) - timeOf(a, sort))
}

/** The sessions of a project, by the ids that are bound to it: undefined until both are loaded. All without a project. */
export function ofProject(
  sessions: SessionSummary[] | undefined,
  project: string | null,
  bound: readonly string[] | undefined,
): SessionSummary[] | undefined {
  if (project === null) return sessions
  const ids = bound && new Set(bound)
  return ids && sessions?.filter(({ id }) => ids.has(id))
}

type Counts = ReturnType<typeof useSeen.getState>['counts']

/** What the filters look at. */
interface Facts {
  /** Ids of the sessions with a pending call. */
  waiting: ReadonlySet<string>
  counts: Counts
  labels: Labels
}

/** The sessions that the filter leaves. */
export function filtered(
  sessions: readonly SessionSummary[],
  filter: Arrangement['filter'],
  { waiting, counts, labels }: Facts,
): readonly SessionSummary[] {
  const label = labelOf(filter)
  if (label !== null) return sessions.filter(({ id }) => labels[id]?.includes(label))
  switch (filter) {
    case 'unread':
      return sessions.filter(session => isUnread(counts, session))
    case 'running':
      return sessions.filter(isBusy)
    case 'waiting':
      return sessions.filter(({ id, state }) => state === 'approval' || waiting.has(id))
    default:
      return sessions
  }
}

/** By day: today, yesterday, the week before, then by month. */
function byDay(sessions: readonly SessionSummary[], sort: Arrangement['sort'], now: Date): Group[] {
  const midnight = (daysAgo: number) =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo).getTime() / 1000
  const groups = new Map<string, Group>()
  for (const session of sessions) {
    const at = timeOf(session, sort)
    const date = new Date(at * 1000)
    const name =
      at >= midnight(0) ? 'today' : at >= midnight(1) ? 'yesterday' : at >= midnight(7) ? 'week' : 'month'
    const key = name === 'month' ? `${date.getFullYear()}-${date.getMonth()}` : name
    const group = groups.get(key)
    if (group) group.sessions.push(session)
    else groups.set(key, { name, sessions: [session] })
  }
  return [...groups.values()]
}

/** The pinned sessions first, in pinned order; then the others as arranged; archived ones last. */
export function groupsOf(
  sessions: readonly SessionSummary[],
  kept: Kept,
  sort: Arrangement['sort'],
  now: Date,
): Group[] {
  const archived = new Set(kept.archived)
  const isArchived = (session: SessionSummary) => archived.has(session.id) && !isBusy(session)
  const listed = sessions.filter(session => !isArchived(session))
  const known = new Map(listed.map(session => [session.id, session]))
  const rest = sorted(
    listed.filter(session => !kept.pinned.includes(session.id)),
    sort,
  )
  const groups: Group[] = [
    { name: 'pinned', sessions: kept.pinned.flatMap(id => known.get(id) ?? []) },
    ...(sort === 'title' ? [{ name: 'all' as const, sessions: rest }] : byDay(rest, sort, now)),
    { name: 'archived', sessions: sorted(sessions.filter(isArchived), sort) },
  ]
  return groups.filter(group => group.sessions.length > 0)
}

/** Ids from one session to another, in list order; only the last one if either is not in the list. */
export function between(groups: readonly Group[], from: string, to: string): string[] {
  const ids = groups.flatMap(group => group.sessions.map(session => session.id))
  const [a, b] = [ids.indexOf(from), ids.indexOf(to)]
  return a < 0 || b < 0 ? [to] : ids.slice(Math.min(a, b), Math.max(a, b) + 1)
}
