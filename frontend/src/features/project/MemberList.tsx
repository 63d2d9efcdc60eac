import { Crown, LogOut } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useMembers } from '@/api/members'
import { useProfile } from '@/api/peopleQueries'
import type { Project } from '@/api/types'
import { Badge } from '@/components/ui/Badge'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { Visible } from '@/components/Visible'
import { useT } from '@/lib/i18n'
import { ConfirmLine } from './ConfirmLine'
import { InviteForm } from './InviteForm'
import { MemberRow } from './MemberRow'
import { useMembership } from './useMembership'

interface Props {
  project: Project
  /** The person has left the project. */
  onLeft: () => void
}

/** The owner and the members of a project. The owner invites, changes roles and removes; a member can leave. */
export function MemberList({ project, onLeft }: Props) {
  const t = useT()
  const { data, error } = useMembers(project.id)
  const you = useProfile(true).data?.username
  const [leaving, setLeaving] = useState(false)
  const heading = useRef<HTMLParagraphElement>(null)
  const leaveButton = useRef<HTMLButtonElement>(null)
  const loaded = data !== undefined
  // The dialog had nothing to focus but its button to close.
  useEffect(() => {
    const touch = matchMedia('(pointer: coarse)').matches
    if (loaded && !touch)
      heading.current?.closest('[role=dialog]')?.querySelector<HTMLElement>('[name=member]')?.focus()
  }, [loaded])
  const { outcome, invite, setRole, remove, leave } = useMembership(project)
  if (!data) return error ? <QueryError error={error} /> : <Skeleton label={t('loading')} rows={3} />
  const owns = data.role === 'owner'
  return (
    <div className="space-y-3">
      <p ref={heading} tabIndex={-1} className="text-[13px] text-fg-2 outline-none">
        {t('membersHint')}
      </p>
      {owns && <InviteForm onInvite={invite} />}
      {outcome?.kind === 'failed' && <ErrorText>{outcome.words}</ErrorText>}
      <p role="status" className="text-fg-2 text-small empty:hidden">
        {outcome?.kind === 'done' && outcome.words}
      </p>
      <ul className="space-y-1.5" aria-label={t('members')}>
        <li className="flex items-center gap-2 rounded-md border px-2.5 py-1.5 text-[13px]">
          <Crown size={14} aria-hidden className="shrink-0 text-fg-3" />
          <span className="min-w-0 flex-1 font-medium [overflow-wrap:anywhere]">
            <Visible text={data.owner} />
          </span>
          {data.owner === you && <Badge>{t('personYou')}</Badge>}
          <Badge>{t('roleOwner')}</Badge>
        </li>
        {data.members.map(member => (
          <MemberRow
            key={member.username}
            member={member}
            you={member.username === you}
            onRole={owns ? role => void setRole(member, role) : null}
            onRemove={
              owns
                ? () => {
                    // The button that was pressed is about to vanish.
                    heading.current?.focus()
                    void remove(member)
                  }
                : null
            }
          />
        ))}
      </ul>
      {data.members.length === 0 && <p className="text-fg-3 text-small">{t('membersNone')}</p>}
      {!owns && you !== undefined && (
        <div className="space-y-1.5">
          <Button ref={leaveButton} aria-expanded={leaving} onClick={() => setLeaving(!leaving)}>
            <LogOut size={14} aria-hidden />
            {t('projectLeave')}
          </Button>
          {leaving && (
            <ConfirmLine
              question={t('projectLeaveAsk')}
              action={t('projectLeave')}
              onCancel={() => {
                leaveButton.current?.focus()
                setLeaving(false)
              }}
              onConfirm={() => {
                leaveButton.current?.focus()
                setLeaving(false)
                void leave(you).then(left => left && onLeft())
              }}
            />
          )}
        </div>
      )}
    </div>
  )
}
