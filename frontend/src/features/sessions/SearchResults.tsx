import { MessageSquare, Paperclip, Wrench } from 'lucide-react'
import { useEffect } from 'react'
import { Link } from 'wouter'
import { useFound } from '@/api/queries'
import type { FoundSession } from '@/api/types'
import { MarkedText } from '@/components/MarkedText'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { markWords, wordsOf } from '@/lib/needle'
import { announce } from '@/stores/announcer'
import { useUi } from '@/stores/ui'

/** Conversations whose title or messages contain the words; each match links to its message. */
export default function SearchResults({ query, onOpen }: { query: string; onOpen: () => void }) {
  const t = useT()
  const found = useFound(query)
  const sessions = found.data?.sessions
  const count = found.isPlaceholderData ? null : (sessions?.length ?? null)
  useEffect(() => {
    if (count !== null) announce(count === 0 ? t('nothingFound') : t('foundSessions', { n: count }))
  }, [count, t])
  if (found.error) return <QueryError error={found.error} className="p-3" />
  if (!sessions) return <Skeleton label={t('loading')} rows={4} />
  if (sessions.length === 0) return <p className="p-3 text-fg-3 text-small">{t('nothingFound')}</p>
  return (
    <section aria-label={t('searchResults')}>
      <ul className="space-y-1 pt-2">
        {sessions.map(session => (
          <li key={session.id}>
            <Found session={session} query={query} onOpen={onOpen} />
          </li>
        ))}
      </ul>
      {found.data?.more && <p className="p-2 text-fg-3 text-meta">{t('foundMore')}</p>}
    </section>
  )
}

interface FoundProps {
  session: FoundSession
  query: string
  onOpen: () => void
}

function Found({ session, query, onOpen }: FoundProps) {
  const t = useT()
  const words = wordsOf(query)
  const { id, title, messages, found } = session
  const hidden = found - messages.length
  return (
    <>
      <Link
        href={`/s/${id}`}
        onClick={onOpen}
        className="block truncate rounded-md px-2 py-1 font-medium hover:bg-hover max-md:min-h-11 max-md:content-center"
      >
        <MarkedText stretches={markWords(title || t('untitled'), words)} />
      </Link>
      {messages.map(({ message_id, role, tool, attachment, excerpt }) => {
        const Icon = tool ? Wrench : attachment ? Paperclip : MessageSquare
        return (
          <Link
            key={message_id}
            href={`/s/${id}/m/${encodeURIComponent(message_id)}`}
            onClick={() => {
              onOpen()
              useUi.setState({ find: query, findAt: message_id, findFile: attachment ?? null })
            }}
            className="flex items-start gap-1.5 rounded-md px-2 py-1 text-fg-2 text-small hover:bg-hover max-md:min-h-11"
          >
            <Icon size={12} aria-hidden className="mt-[3px] shrink-0 text-fg-3" />
            <span className={attachment ? 'shrink-0 font-medium' : 'sr-only'}>
              {tool ?? attachment ?? t(role === 'user' ? 'you' : 'appName')}:{' '}
            </span>
            <span className="line-clamp-2 min-w-0 [overflow-wrap:anywhere]">
              <MarkedText stretches={markWords(excerpt, words)} />
            </span>
          </Link>
        )
      })}
      {hidden > 0 && <p className="px-2 pb-1 text-fg-3 text-meta">{t('foundHidden', { n: hidden })}</p>}
    </>
  )
}
