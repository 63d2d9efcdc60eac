import { Mail, Trash2, UserRound } from 'lucide-react'
import { useId, useRef, useState } from 'react'
import type { MemberRole, ProjectMember } from '@/api/types'
import { Badge } from '@/components/ui/Badge'
import { IconButton } from '@/components/ui/Button'
import { Select } from '@/components/ui/Select'
import { Visible } from '@/components/Visible'
import { useDate } from '@/features/auth/useDate'
import { useT } from '@/lib/i18n'
import { ConfirmLine } from './ConfirmLine'
import { ROLES } from './useMembership'

interface Props {
  member: ProjectMember
  you: boolean
  /** Gives another role; null for those who may not. */
  onRole: ((role: MemberRole) => void) | null
  onRemove: (() => void) | null
}

/** A member, or somebody who is invited. */
export function MemberRow({ member, you, onRole, onRemove }: Props) {
  const t = useT()
  const date = useDate()
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const [asking, setAsking] = useState(false)
  const { username: name, role, state, since } = member
  const invited = state === 'invited'
  const Icon = invited ? Mail : UserRound
  return (
    <li className="space-y-1.5 rounded-md border px-2.5 py-1.5 text-[13px]">
      <div className="flex flex-wrap items-center gap-2">
        <Icon size={14} aria-hidden className="shrink-0 text-fg-3" />
        <span className="min-w-0 flex-1 basis-32">
          <span className="flex flex-wrap items-center gap-x-2 font-medium [overflow-wrap:anywhere]">
            <Visible text={name} />
            {you && <Badge>{t('personYou')}</Badge>}
          </span>
          <span className="block text-fg-3 text-meta">
            {t(invited ? 'invitedState' : 'memberState', { at: date(since) })}
          </span>
        </span>
        {onRole ? (
          <>
            <span id={`${id}-role`} className="sr-only">
              {t('memberRoleOf', { name })}
            </span>
            <Select
              aria-labelledby={`${id}-role`}
              value={role}
              options={Object.entries(ROLES).map(([value, words]) => ({ value, words: t(words.name) }))}
              onChange={value => onRole(value as MemberRole)}
            />
          </>
        ) : (
          <Badge>{t(ROLES[role].name)}</Badge>
        )}
        {onRemove && (
          <IconButton
            ref={button}
            size="smallIcon"
            label={t(invited ? 'invitationTakeBack' : 'memberRemove', { name })}
            aria-expanded={invited ? undefined : asking}
            // Somebody who has not accepted has nothing to lose.
            onClick={invited ? onRemove : () => setAsking(!asking)}
          >
            <Trash2 size={14} aria-hidden />
          </IconButton>
        )}
      </div>
      {asking && onRemove && (
        <ConfirmLine
          question={t('memberRemoveAsk', { name })}
          action={t('memberRemoveNow')}
          onCancel={() => {
            button.current?.focus()
            setAsking(false)
          }}
          onConfirm={() => {
            setAsking(false)
            onRemove()
          }}
        />
      )}
    </li>
  )
}
