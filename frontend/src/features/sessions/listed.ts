import { keys, queryClient } from '@/api/queries'
import type { Approval, SessionList, SessionSummary } from '@/api/types'
import { isOpen } from '@/stores/folds'
import { useProject } from '@/stores/project'
import { useSeen } from '@/stores/seen'
import { useArrangement } from './arrangement'
import { filtered, groupsOf, ofProject } from './groups'

/** What the order depends on, and the order: commands ask for it at every change of the page. */
let last: { given: readonly unknown[]; sessions: readonly SessionSummary[] } = { given: [], sessions: [] }

/** The conversations that the list shows, in its order, whether or not it is on the page. */
export function listed(): readonly SessionSummary[] {
  const list = queryClient.getQueryData<SessionList>(keys.sessions)
  const approvals = queryClient.getQueryData<Approval[]>(keys.approvals)
  const { sort, filter } = useArrangement.getState()
  const { counts } = useSeen.getState()
  const archivedOpen = isOpen('archived', false)
  const project = useProject.getState().id
  const bound = project === null ? undefined : queryClient.getQueryData<string[]>(keys.bound(project))
  const given = [list, approvals, sort, filter, counts, archivedOpen, project, bound]
  if (given.some((value, i) => value !== last.given[i])) {
    const waiting = new Set(approvals?.map(approval => approval.session_id))
    const labels = list?.labels ?? {}
    const inProject = ofProject(list?.sessions ?? [], project, bound) ?? []
    const left = filtered(inProject, filter, { waiting, counts, labels })
    const kept = { pinned: list?.pinned ?? [], archived: list?.archived ?? [], labels }
    const groups = groupsOf(left, kept, sort, new Date())
    const shown = groups.filter(({ name }) => name !== 'archived' || archivedOpen)
    last = { given, sessions: shown.flatMap(group => group.sessions) }
  }
  return last.sessions
}
