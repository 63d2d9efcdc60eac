import { MessagesSquare } from 'lucide-react'
import { useSessions } from '@/api/queries'
import { MessageLink } from '@/components/MessageLink'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import type { MessagePlace } from '@/lib/messageCitation'

/** The past conversations that an answer cites. */
export default function CitedConversations({ places }: { places: readonly MessagePlace[] }) {
  const t = useT()
  const sessions = useSessions().data
  const titleOf = (id: string) => {
    const session = sessions?.find(session => session.id === id)
    return session?.title || session?.begins || t('untitled')
  }
  return (
    <section
      aria-label={t('citedConversations')}
      className="flex flex-wrap items-center gap-x-2 gap-y-1 text-fg-2 text-small"
    >
      <MessagesSquare size={13} aria-hidden />
      <span>{t('citedConversations')}</span>
      <ul className="contents">
        {places.map(place => (
          <li key={place.session} className="max-w-full truncate">
            <MessageLink place={place}>{titleOf(place.session)}</MessageLink>
          </li>
        ))}
      </ul>
    </section>
  )
}
