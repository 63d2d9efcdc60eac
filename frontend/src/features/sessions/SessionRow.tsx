import { useId } from 'react'
import { Link } from 'wouter'
import type { SessionSummary } from '@/api/types'
import { cn } from '@/lib/cn'
import { compactCount } from '@/lib/format'
import { useT } from '@/lib/i18n'
import { RenameField } from './RenameField'
import { SessionMenu } from './SessionMenu'
import { type State, StateMark } from './StateMark'

interface Props {
  session: SessionSummary
  labels: readonly string[]
  /** The name of the project that it works in; null if that is none, or not known. */
  place: string | null
  /** When it last changed, or was created, as the list is sorted. */
  date: string
  state: State
  current: boolean
  unread: boolean
  renaming: boolean
  pinned: boolean
  /** Shown in the group of archived sessions. */
  archived: boolean
  onOpen: () => void
  onStartRename: () => void
  /** Called with null if the person cancelled. */
  onRename: (title: string | null) => void
  onDelete: () => void
  onPin: (on: boolean) => void
  onArchive: (archived: boolean) => void
  /** Stops the work that runs or waits in it. */
  onStop: () => void
  /** Called for a click with Ctrl or Cmd; with Shift, selects all from the open session to this one. */
  onChoose: (range: boolean) => void
}

export function SessionRow(props: Props) {
  const {
    session,
    labels,
    place,
    date,
    state,
    current,
    unread,
    renaming,
    onOpen,
    onStartRename,
    onRename,
    onDelete,
    pinned,
    archived,
    onPin,
    onArchive,
    onChoose,
    onStop,
  } = props
  const t = useT()
  const placeId = useId()
  const project = place === null ? null : t('projectFilter', { name: place })
  const title = session.title || session.begins || t('untitled')
  if (renaming) return <RenameField title={title} onDone={onRename} />
  return (
    <div
      className={cn(
        'group relative flex items-center rounded-md transition-colors',
        current ? 'bg-sel' : 'focus-within:bg-hover hover:bg-hover',
      )}
    >
      <Link
        href={`/s/${session.id}`}
        aria-current={current ? 'page' : undefined}
        aria-describedby={project === null ? undefined : placeId}
        onClick={onOpen}
        onClickCapture={event => {
          if (!event.shiftKey && !event.ctrlKey && !event.metaKey) return
          event.preventDefault()
          onChoose(event.shiftKey)
        }}
        onDoubleClick={onStartRename}
        onKeyDown={event => event.key === 'F2' && onStartRename()}
        className="flex min-w-0 flex-1 items-center gap-2 rounded-md px-2 py-1.5 pointer-fine:group-hover:pe-8 touch-row"
      >
        <span
          title={[title, project, date, ...labels].filter(line => line !== null).join('\n')}
          className={cn('min-w-0 flex-1 truncate', unread && 'font-semibold')}
        >
          {title}
        </span>
        {labels.length > 0 && (
          <span className="max-w-[40%] shrink-0 truncate rounded-full border px-1.5 text-fg-2 text-meta">
            {labels[0]}
            {labels.length > 1 && ` +${labels.length - 1}`}
          </span>
        )}
        <span className="beside-menu flex shrink-0">
          <StateMark state={state} />
          {state === 'idle' && session.tokens > 0 && (
            <span
              aria-hidden
              title={t('sessionTokens', { n: session.tokens })}
              className="text-fg-3 text-meta tabular-nums"
            >
              {compactCount(session.tokens)}
            </span>
          )}
          {unread && <Unread />}
        </span>
      </Link>
      {project !== null && (
        <span id={placeId} hidden>
          {project}
        </span>
      )}
      <SessionMenu
        title={title}
        {...{ session, state, pinned, archived, onStartRename, onDelete, onPin, onArchive, onStop }}
      />
    </div>
  )
}

function Unread() {
  const t = useT()
  return (
    <span title={t('unread')} className="ms-1 size-2 self-center rounded-full bg-accent">
      <span className="sr-only">{t('unread')}</span>
    </span>
  )
}
