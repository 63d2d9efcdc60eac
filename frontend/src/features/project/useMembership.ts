import { useState } from 'react'
import { membersKey, putMember, removeMember } from '@/api/members'
import { refresh } from '@/api/queries'
import type { MemberRole, Project, ProjectMember } from '@/api/types'
import { type Key, useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { leave } from './manage'

export const ROLES: Record<MemberRole, { name: Key; means: Key }> = {
  editor: { name: 'roleEditor', means: 'roleEditorMeans' },
  viewer: { name: 'roleViewer', means: 'roleViewerMeans' },
}

/** What happened last. */
export type Outcome = { kind: 'done' | 'failed'; words: string }

/** What can be done with the members of a project. Each action resolves to whether it was done. */
export function useMembership(project: Project) {
  const t = useT()
  const { id, name } = project
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  const run = async (action: () => Promise<unknown>, words: string): Promise<boolean> => {
    setOutcome(null)
    try {
      await action()
      setOutcome({ kind: 'done', words })
      return true
    } catch (error) {
      setOutcome({ kind: 'failed', words: reasonOf(error) })
      return false
    } finally {
      refresh(membersKey(id))
    }
  }
  return {
    outcome,
    invite: (username: string, role: MemberRole) =>
      run(() => putMember(id, username, role), t('memberInvited', { name: username })),
    setRole: ({ username }: ProjectMember, role: MemberRole) =>
      run(
        () => putMember(id, username, role),
        t('roleChanged', { name: username, role: t(ROLES[role].name) }),
      ),
    remove: ({ username, state }: ProjectMember) =>
      run(
        () => removeMember(id, username),
        t(state === 'invited' ? 'invitationTakenBack' : 'memberRemoved', { name: username }),
      ),
    leave: (username: string) => run(() => leave(project, username), t('projectLeft', { name })),
  }
}
