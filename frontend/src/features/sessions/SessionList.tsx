import { useState } from 'react'
import type { SessionSummary } from '@/api/types'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { isUnread, useSeen } from '@/stores/seen'
import { groupsOf } from './groups'
import { SessionRow } from './SessionRow'

interface Props {
  sessions: SessionSummary[] | undefined
  pinned: readonly string[]
  error: string | null
  /** Those in which a call waits for a person. */
  waiting: ReadonlySet<string>
  current: string | null
  onOpen: () => void
  onRename: (session: SessionSummary, title: string) => void
  onDelete: (session: SessionSummary) => void
  onPin: (session: SessionSummary, on: boolean) => void
  onExport: (session: SessionSummary, format: 'md' | 'json') => void
  onStop: (session: SessionSummary) => void
}

export function SessionList(props: Props) {
  const { sessions, pinned, error, waiting, current, onOpen, onRename, onDelete, onPin, onExport, onStop } =
    props
  const t = useT()
  const { counts } = useSeen()
  const [renaming, setRenaming] = useState<string | null>(null)
  if (!sessions) {
    return error ? (
      <p className="p-3 text-bad text-small">{t('loadFailed', { reason: error })}</p>
    ) : (
      <Skeleton label={t('loading')} rows={5} />
    )
  }
  if (sessions.length === 0) return <p className="p-3 text-fg-3 text-small">{t('noSessions')}</p>
  return groupsOf(sessions, pinned, new Date()).map(({ name, sessions: list }) => (
    <section key={name} aria-label={t(name)}>
      <h2 className="px-2 pt-2 pb-1 font-medium text-fg-3 text-meta">{t(name)}</h2>
      <ul>
        {list.map(session => (
          <li key={session.id}>
            <SessionRow
              session={session}
              state={waiting.has(session.id) ? 'approval' : session.state}
              current={session.id === current}
              unread={session.id !== current && isUnread(counts, session)}
              renaming={renaming === session.id}
              onOpen={onOpen}
              onStartRename={() => setRenaming(session.id)}
              onRename={title => {
                setRenaming(null)
                if (title) onRename(session, title)
              }}
              onDelete={() => onDelete(session)}
              pinned={name === 'pinned'}
              onPin={on => onPin(session, on)}
              onExport={format => onExport(session, format)}
              onStop={() => onStop(session)}
            />
          </li>
        ))}
      </ul>
    </section>
  ))
}
