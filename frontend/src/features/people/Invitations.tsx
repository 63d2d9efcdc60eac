import { Plus, Trash2 } from 'lucide-react'
import { useRef, useState } from 'react'
import { peopleKeys } from '@/api/multi'
import { addInvitation, removeInvitation } from '@/api/people'
import { useInvitations } from '@/api/peopleQueries'
import { refresh } from '@/api/queries'
import type { Invitation, NewInvitation } from '@/api/types'
import { Badge } from '@/components/ui/Badge'
import { Button, IconButton } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { invitationLink } from '@/features/auth/enter'
import { OneTime } from '@/features/auth/OneTime'
import { accountReason } from '@/features/auth/refusal'
import { useDate } from '@/features/auth/useDate'
import { useT } from '@/lib/i18n'

/** The invitations of this server: a new one is shown once, and each can be deleted. */
export function Invitations() {
  const t = useT()
  const { data: invitations, error } = useInvitations()
  const [made, setMade] = useState<NewInvitation | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const button = useRef<HTMLButtonElement>(null)
  const attempt = async (change: () => Promise<void>) => {
    setProblem(null)
    try {
      await change()
    } catch (cause) {
      setProblem(accountReason(cause))
    }
    refresh(peopleKeys.invitations)
  }
  const add = () => attempt(async () => setMade(await addInvitation()))
  const remove = ({ id }: Invitation) =>
    attempt(async () => {
      // The button that was pressed is about to vanish.
      button.current?.focus()
      await removeInvitation(id)
      if (made?.id === id) setMade(null)
    })
  return (
    <div className="space-y-3">
      <p className="text-[13px] text-fg-2">{t('invitationsHint')}</p>
      <Button ref={button} className="self-start" onClick={() => void add()}>
        <Plus size={14} aria-hidden />
        {t('invitationAdd')}
      </Button>
      {problem && <ErrorText>{problem}</ErrorText>}
      {made && (
        <OneTime
          key={made.id}
          title={t('invitationMade')}
          hint={t('invitationMadeHint')}
          secrets={[
            { label: t('invitationLink'), text: invitationLink(made.code) },
            { label: t('invitationCode'), text: made.code },
          ]}
        />
      )}
      {!invitations ? (
        error ? (
          <QueryError error={error} />
        ) : (
          <Skeleton label={t('loading')} rows={2} />
        )
      ) : invitations.length === 0 ? (
        <p className="text-fg-3 text-small">{t('invitationsNone')}</p>
      ) : (
        <ul className="space-y-1.5" aria-label={t('peopleInvitations')}>
          {invitations.map(invitation => (
            <Row key={invitation.id} invitation={invitation} onRemove={() => void remove(invitation)} />
          ))}
        </ul>
      )}
    </div>
  )
}

function Row({ invitation, onRemove }: { invitation: Invitation; onRemove: () => void }) {
  const t = useT()
  const date = useDate()
  const { created_at: created, expires_at: expires, used_by: usedBy } = invitation
  const expired = expires !== null && Date.parse(expires) < Date.now()
  return (
    <li className="flex items-center gap-2 rounded-md border px-2.5 py-1.5 text-[13px]">
      <div className="min-w-0 flex-1">
        <p>
          {usedBy ? (
            t('invitationUsed', { name: usedBy })
          ) : expired ? (
            <Badge>{t('invitationExpired')}</Badge>
          ) : (
            <Badge tone="ok">{t('invitationOpen')}</Badge>
          )}
        </p>
        <p className="text-fg-3 text-meta">
          {[
            t('createdAt', { at: date(created) }),
            !usedBy && expires && !expired && t('expiresAt', { at: date(expires) }),
          ]
            .filter(Boolean)
            .join(' · ')}
        </p>
      </div>
      <IconButton size="smallIcon" label={t('invitationDelete', { at: date(created) })} onClick={onRemove}>
        <Trash2 size={14} aria-hidden />
      </IconButton>
    </li>
  )
}
