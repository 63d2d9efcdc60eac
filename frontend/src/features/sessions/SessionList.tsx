import { useState } from 'react'
import type { SessionSummary } from '@/api/types'
import { onDemand } from '@/components/onDemand'
import { Button } from '@/components/ui/Button'
import { Disclosure } from '@/components/ui/Disclosure'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { cn } from '@/lib/cn'
import { moment } from '@/lib/format'
import { locale, useLang, useT } from '@/lib/i18n'
import { useFold } from '@/stores/folds'
import { useProject } from '@/stores/project'
import { isUnread, useSeen } from '@/stores/seen'
import { filterName } from './ArrangeMenu'
import { useArrangement } from './arrangement'
import { between, filtered, groupsOf, type Kept, timeOf } from './groups'
import { titleOf } from './groupTitle'
import { SessionRow } from './SessionRow'
import { usePlaceNames } from './usePlaceNames'
import { useRowFocus } from './useRowFocus'

const NO_LABELS: readonly string[] = []
const ChooseList = onDemand(() => import('./ChooseList'))

interface Props {
  sessions: SessionSummary[] | undefined
  kept: Kept
  error: unknown
  /** Ids of the sessions with a pending call. */
  waiting: ReadonlySet<string>
  current: string | null
  onOpen: () => void
  onRename: (session: SessionSummary, title: string) => void
  onDelete: (session: SessionSummary) => void
  onPin: (session: SessionSummary, on: boolean) => void
  onArchive: (session: SessionSummary, archived: boolean) => void
  onStop: (session: SessionSummary) => void
  /** Ids selected at the start of the selection mode; null outside it. */
  choosing: readonly string[] | null
  onChoosing: (chosen: readonly string[] | null) => void
}

export function SessionList(props: Props) {
  const { sessions, kept, error, waiting, current, onOpen, onRename, onDelete, onPin, onArchive, onStop } =
    props
  const { choosing, onChoosing } = props
  const t = useT()
  const counts = useSeen(s => s.counts)
  const sort = useArrangement(s => s.sort)
  const filter = useArrangement(s => s.filter)
  const lang = useLang()
  const [archivedOpen, setArchivedOpen] = useFold('archived', false)
  const [renaming, setRenaming] = useState<string | null>(null)
  const rowFocus = useRowFocus()
  const placeOf = usePlaceNames(sessions)
  if (!sessions) {
    return error ? <QueryError error={error} className="p-3" /> : <Skeleton label={t('loading')} rows={5} />
  }
  if (sessions.length === 0) return <NoneYet />
  const left = filtered(sessions, filter, { waiting, counts, labels: kept.labels })
  if (left.length === 0) return <NoneLeft words={t('filterNone', { filter: filterName(filter, t) })} />
  const groups = groupsOf(left, kept, sort, new Date())
  const shown = groups.filter(({ name }) => name !== 'archived' || archivedOpen)
  if (choosing) {
    return (
      <ChooseList
        groups={shown}
        start={choosing}
        waiting={waiting}
        current={current}
        onDone={() => onChoosing(null)}
      />
    )
  }
  return groups.map(group => {
    const { name, sessions: list } = group
    const title = titleOf(group, sort, t)
    const rows = (
      <ul>
        {list.map(session => (
          <li key={session.id} data-session={session.id} {...rowFocus}>
            <SessionRow
              session={session}
              labels={kept.labels[session.id] ?? NO_LABELS}
              place={placeOf(session.id)}
              date={moment(timeOf(session, sort), locale(lang))}
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
              archived={name === 'archived'}
              onPin={on => onPin(session, on)}
              onArchive={archived => onArchive(session, archived)}
              onStop={() => onStop(session)}
              onChoose={range =>
                onChoosing(range && current ? between(shown, current, session.id) : [session.id])
              }
            />
          </li>
        ))}
      </ul>
    )
    const heading = 'px-2 pt-2 pb-1 font-medium text-fg-3 text-meta'
    return (
      <section key={title} aria-label={title}>
        {name === 'archived' ? (
          <Disclosure
            open={archivedOpen}
            onToggle={setArchivedOpen}
            summaryClass={cn(heading, 'rounded-md hover:bg-hover')}
            summary={
              <h2 className="me-auto">
                {title} ({list.length})
              </h2>
            }
          >
            {rows}
          </Disclosure>
        ) : (
          <>
            <h2 className={heading}>{title}</h2>
            {rows}
          </>
        )}
      </section>
    )
  })
}

/** There are none, or none in the project. */
function NoneYet() {
  const t = useT()
  const inProject = useProject(s => s.id !== null)
  return (
    <div className="p-3 text-fg-3 text-small">
      <p role={inProject ? 'status' : undefined}>{t(inProject ? 'noSessionsInProject' : 'noSessions')}</p>
      {inProject && (
        <Button size="small" className="mt-2" onClick={() => useProject.setState({ id: null })}>
          {t('filterAll')}
        </Button>
      )}
    </div>
  )
}

/** The filter hides every conversation: says so, and takes it off. */
function NoneLeft({ words }: { words: string }) {
  const t = useT()
  return (
    <div className="p-3 text-fg-3 text-small">
      <p role="status">{words}</p>
      <Button size="small" className="mt-2" onClick={() => useArrangement.setState({ filter: 'all' })}>
        {t('filterAll')}
      </Button>
    </div>
  )
}
