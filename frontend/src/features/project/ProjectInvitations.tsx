import { Mail } from 'lucide-react'
import { useState } from 'react'
import { useProjectInvitations } from '@/api/members'
import type { ProjectInvitation } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { Visible } from '@/components/Visible'
import { useT } from '@/lib/i18n'
import { accept, decline } from './manage'

interface Props {
  /** Called with an action that answers an invitation: it may close the list around this one first. */
  onAnswer: (answer: () => Promise<string>) => void
}

/** The projects of others that the person is invited to; nothing without any. */
export function ProjectInvitations({ onAnswer }: Props) {
  const t = useT()
  const { data } = useProjectInvitations()
  if (!data || data.length === 0) return null
  return (
    <ul aria-label={t('projectInvitations')} className="space-y-1">
      {data.map(invitation => (
        <Row key={invitation.project_id} invitation={invitation} onAnswer={onAnswer} />
      ))}
    </ul>
  )
}

function Row({ invitation, onAnswer }: { invitation: ProjectInvitation } & Props) {
  const t = useT()
  const [busy, setBusy] = useState(false)
  const { name, owner, role } = invitation
  const answer = (with_: typeof accept, words: 'projectJoined' | 'projectDeclined') => {
    setBusy(true)
    onAnswer(async () => {
      try {
        await with_(invitation)
        return t(words, { name })
      } finally {
        setBusy(false)
      }
    })
  }
  return (
    <li className="flex flex-wrap items-center gap-x-2 gap-y-1 rounded-md border px-2 py-1.5 text-[13px]">
      <Mail size={14} aria-hidden className="shrink-0 text-accent" />
      <span className="min-w-0 flex-1 basis-40 [overflow-wrap:anywhere]">
        <span className="line-clamp-3">
          <Visible
            text={t(role === 'editor' ? 'projectInvitedEditor' : 'projectInvitedViewer', { owner, name })}
          />
        </span>
      </span>
      <span className="ms-auto flex gap-1.5">
        <Button
          size="small"
          disabled={busy}
          aria-label={t('projectAcceptThis', { name })}
          onClick={() => answer(accept, 'projectJoined')}
        >
          {t('projectAccept')}
        </Button>
        <Button
          size="small"
          look="ghost"
          disabled={busy}
          aria-label={t('projectDeclineThis', { name })}
          onClick={() => answer(decline, 'projectDeclined')}
        >
          {t('projectDecline')}
        </Button>
      </span>
    </li>
  )
}
