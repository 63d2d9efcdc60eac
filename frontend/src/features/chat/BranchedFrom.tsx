import { GitBranch } from 'lucide-react'
import { Link } from 'wouter'
import { useSessions } from '@/api/queries'
import { useT } from '@/lib/i18n'
import type { Parent } from '@/thread/model'

interface Props {
  parent: Parent
  /** The beginning of the message at which it branched off; empty if that is not part of this conversation. */
  point: string
}

/** Link to where the conversation branched off. If that conversation is gone, its page says so. */
export function BranchedFrom({ parent, point }: Props) {
  const t = useT()
  const known = useSessions().data?.find(session => session.id === parent.sessionId)
  const title = known ? known.title || known.begins || t('untitled') : t('anotherChat')
  const { sessionId, messageId } = parent
  return (
    <p className="flex items-center gap-1.5 text-fg-3 text-small">
      <GitBranch size={13} aria-hidden className="shrink-0" />
      <Link
        href={`/s/${encodeURIComponent(sessionId)}/m/${encodeURIComponent(messageId)}`}
        className="min-w-0 truncate underline-offset-2 hover:underline pointer-coarse:py-3"
      >
        {point ? t('branchedAt', { title, point }) : t('branchedFrom', { title })}
      </Link>
    </p>
  )
}
