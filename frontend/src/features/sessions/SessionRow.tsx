import {
  Archive,
  ArchiveRestore,
  Braces,
  Ellipsis,
  FileDown,
  Pencil,
  Pin,
  PinOff,
  ShieldQuestion,
  Square,
  Trash2,
  TriangleAlert,
} from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { SessionSummary } from '@/api/types'
import { Badge } from '@/components/ui/Badge'
import { IconButton } from '@/components/ui/Button'
import { Menu, MenuItem } from '@/components/ui/Menu'
import { Spinner } from '@/components/ui/Spinner'
import { cn } from '@/lib/cn'
import { compactCount, count } from '@/lib/format'
import { useT } from '@/lib/i18n'
import { RenameField } from './RenameField'

type State = SessionSummary['state'] | 'approval'

interface Props {
  session: SessionSummary
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
  onExport: (format: 'md' | 'json') => void
  /** Stops the work that runs or waits in it. */
  onStop: () => void
  /** Called for a click with Ctrl or Cmd; with Shift, selects all from the open session to this one. */
  onChoose: (range: boolean) => void
}

export function SessionRow(props: Props) {
  const {
    session,
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
    onExport,
    onStop,
  } = props
  const t = useT()
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
        onClick={onOpen}
        onClickCapture={event => {
          if (!event.shiftKey && !event.ctrlKey && !event.metaKey) return
          event.preventDefault()
          onChoose(event.shiftKey)
        }}
        onDoubleClick={onStartRename}
        className="flex min-w-0 flex-1 items-center gap-2 rounded-md px-2 py-1.5 pointer-fine:group-hover:pe-8 max-md:min-h-11 pointer-coarse:min-h-11"
      >
        <span className={cn('min-w-0 flex-1 truncate', unread && 'font-semibold')}>{title}</span>
        <span className="beside-menu flex shrink-0">
          <StateMark state={state} />
          {state === 'idle' && session.tokens > 0 && (
            <span
              aria-hidden
              title={t('sessionTokens', { n: count(session.tokens) })}
              className="text-fg-3 text-meta tabular-nums"
            >
              {compactCount(session.tokens)}
            </span>
          )}
          {unread && <Unread />}
        </span>
      </Link>
      <Menu
        trigger={
          <IconButton
            label={t('sessionMenu', { title })}
            size="smallIcon"
            className="pointer-fine:absolute pointer-fine:end-1 opacity-0 focus-visible:opacity-100 group-hover:opacity-100 aria-expanded:opacity-100 pointer-coarse:opacity-100"
          >
            <Ellipsis size={15} aria-hidden />
          </IconButton>
        }
      >
        {(state === 'running' || state === 'approval') && (
          <MenuItem icon={<Square size={14} aria-hidden />} onSelect={onStop}>
            {t('stop')}
          </MenuItem>
        )}
        <MenuItem icon={<Pencil size={14} aria-hidden />} onSelect={onStartRename}>
          {t('rename')}
        </MenuItem>
        {!archived && (
          <MenuItem
            icon={pinned ? <PinOff size={14} aria-hidden /> : <Pin size={14} aria-hidden />}
            onSelect={() => onPin(!pinned)}
          >
            {t(pinned ? 'unpin' : 'pin')}
          </MenuItem>
        )}
        {state !== 'running' && state !== 'approval' && (
          <MenuItem
            icon={archived ? <ArchiveRestore size={14} aria-hidden /> : <Archive size={14} aria-hidden />}
            onSelect={() => onArchive(!archived)}
          >
            {t(archived ? 'unarchive' : 'archive')}
          </MenuItem>
        )}
        <MenuItem icon={<FileDown size={14} aria-hidden />} onSelect={() => onExport('md')}>
          {t('exportMd')}
        </MenuItem>
        <MenuItem icon={<Braces size={14} aria-hidden />} onSelect={() => onExport('json')}>
          {t('exportJson')}
        </MenuItem>
        <MenuItem icon={<Trash2 size={14} aria-hidden />} onSelect={onDelete} danger>
          {t('delete')}
        </MenuItem>
      </Menu>
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

export function StateMark({ state }: { state: State }): ReactNode {
  const t = useT()
  if (state === 'running') {
    return (
      <span className="flex shrink-0 items-center gap-1 text-[11px] text-accent">
        <Spinner size="small" />
        {t('running')}
      </span>
    )
  }
  if (state === 'approval') {
    return (
      <Badge tone="warn">
        <ShieldQuestion size={12} aria-hidden />
        {t('approvalState')}
      </Badge>
    )
  }
  if (state !== 'error') return null
  return (
    <span title={t('failed')} className="shrink-0 text-bad">
      <TriangleAlert size={13} aria-hidden />
      <span className="sr-only">{t('failed')}</span>
    </span>
  )
}
