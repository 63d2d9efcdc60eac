import {
  Archive,
  ArchiveRestore,
  Braces,
  Ellipsis,
  Eye,
  EyeOff,
  FileDown,
  Pencil,
  Pin,
  PinOff,
  SlidersHorizontal,
  Square,
  Tag,
  Trash2,
} from 'lucide-react'
import type { SessionSummary } from '@/api/types'
import { setRecall } from '@/app/recall'
import { CommandMenuItem } from '@/components/CommandMenuItem'
import { ForSession } from '@/components/ForSession'
import { IconButton } from '@/components/ui/Button'
import { Menu, MenuItem } from '@/components/ui/Menu'
import { useT } from '@/lib/i18n'
import { openDialog } from '@/stores/ui'
import type { State } from './StateMark'

interface Props {
  session: SessionSummary
  state: State
  title: string
  pinned: boolean
  archived: boolean
  onStartRename: () => void
  onDelete: () => void
  onPin: (on: boolean) => void
  onArchive: (archived: boolean) => void
  /** Stops the work that runs or waits in it. */
  onStop: () => void
}

/** What can be done with a session of the list. */
export function SessionMenu(props: Props) {
  const { session, state, title, pinned, archived, onStartRename, onDelete, onPin, onArchive, onStop } = props
  const t = useT()
  const excluded = session.not_for_recall ?? false
  const working = state === 'running' || state === 'approval'
  return (
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
      {working && (
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
      {!working && (
        <MenuItem
          icon={archived ? <ArchiveRestore size={14} aria-hidden /> : <Archive size={14} aria-hidden />}
          onSelect={() => onArchive(!archived)}
        >
          {t(archived ? 'unarchive' : 'archive')}
        </MenuItem>
      )}
      <MenuItem
        icon={excluded ? <Eye size={14} aria-hidden /> : <EyeOff size={14} aria-hidden />}
        onSelect={() => void setRecall(session.id, title, !excluded)}
      >
        {t(excluded ? 'includeInRecall' : 'excludeFromRecall')}
      </MenuItem>
      <MenuItem
        icon={<Tag size={14} aria-hidden />}
        onSelect={() => openDialog({ name: 'labels', session: session.id })}
      >
        {t('labels')}
      </MenuItem>
      <ForSession sessionId={session.id}>
        <CommandMenuItem command="thisConversation" icon={<SlidersHorizontal size={14} aria-hidden />} />
        <CommandMenuItem command="exportMd" icon={<FileDown size={14} aria-hidden />} />
        <CommandMenuItem command="exportJson" icon={<Braces size={14} aria-hidden />} />
      </ForSession>
      <MenuItem icon={<Trash2 size={14} aria-hidden />} onSelect={onDelete} danger>
        {t('delete')}
      </MenuItem>
    </Menu>
  )
}
