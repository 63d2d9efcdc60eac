import { Ellipsis, Eye, History, Undo2 } from 'lucide-react'
import { useState } from 'react'
import type { WorkWithChanges } from '@/api/types'
import { IconButton } from '@/components/ui/Button'
import { Disclosure } from '@/components/ui/Disclosure'
import { Menu, MenuItem } from '@/components/ui/Menu'
import { moment } from '@/lib/format'
import { useLang, useT } from '@/lib/i18n'
import { openDialog } from '@/stores/ui'

interface Props {
  /** All works that changed files, oldest first. */
  works: readonly WorkWithChanges[]
  /** The only one that is listed; null for all. */
  only: string | null
  /** The conversation runs, so nothing can be undone. */
  busy: boolean
  onShowOnly: (work: string) => void
}

/** The works that changed files, newest first, with what can be undone of them. */
export function Works({ works, only, busy, onShowOnly }: Props) {
  const t = useT()
  const lang = useLang()
  const [open, setOpen] = useState(true)
  const listed = works.filter(({ work_id }) => only === null || work_id === only).toReversed()
  /** Later changes can be undone only if no summary replaces their messages. */
  const canUndoLater = (work: WorkWithChanges) => {
    const later = works.slice(works.indexOf(work) + 1)
    return later.length > 0 && !later.some(({ compacted }) => compacted)
  }
  const actionsOf = (work: WorkWithChanges): WorkActions => ({
    showOnly: only === null ? () => onShowOnly(work.work_id) : null,
    undo: busy || work.compacted ? null : () => openDialog({ name: 'undo', work: work.work_id }),
    undoLater:
      !busy && canUndoLater(work) ? () => openDialog({ name: 'undoLater', work: work.work_id }) : null,
  })
  if (listed.length === 0) return null
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      className="shrink-0 rounded-lg border text-[13px]"
      summaryClass="rounded-lg px-3 py-1.5 hover:bg-hover"
      summary={<span className="me-auto font-medium">{t('changesWorks')}</span>}
    >
      <ol className="scroll max-h-40 px-1 pb-1">
        {listed.map(work => (
          <li key={work.work_id} className="flex items-center gap-2 ps-2">
            <span className="min-w-0 flex-1 truncate" title={work.prompt}>
              {work.prompt || t('untitled')}
            </span>
            {work.create_time != null && (
              <span className="shrink-0 text-fg-3 text-meta tabular-nums">
                {moment(work.create_time, lang)}
              </span>
            )}
            <WorkMenu work={work} actions={actionsOf(work)} />
          </li>
        ))}
      </ol>
    </Disclosure>
  )
}

/** What can be done with a work; null where it cannot. */
type WorkActions = Readonly<Record<'showOnly' | 'undo' | 'undoLater', (() => void) | null>>

function WorkMenu({ work, actions }: { work: WorkWithChanges; actions: WorkActions }) {
  const t = useT()
  const { showOnly, undo, undoLater } = actions
  if (!showOnly && !undo && !undoLater) return null
  return (
    <Menu
      trigger={
        <IconButton label={t('changesWorkActions', { prompt: work.prompt.slice(0, 40) })} size="smallIcon">
          <Ellipsis size={14} aria-hidden />
        </IconButton>
      }
    >
      {showOnly && (
        <MenuItem icon={<Eye size={14} aria-hidden />} onSelect={showOnly}>
          {t('changesShowOnly')}
        </MenuItem>
      )}
      {undo && (
        <MenuItem icon={<Undo2 size={14} aria-hidden />} onSelect={undo}>
          {t('changesUndoWork')}
        </MenuItem>
      )}
      {undoLater && (
        <MenuItem icon={<History size={14} aria-hidden />} onSelect={undoLater}>
          {t('changesUndoLater')}
        </MenuItem>
      )}
    </Menu>
  )
}
