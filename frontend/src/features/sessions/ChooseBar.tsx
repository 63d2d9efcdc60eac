import { Archive, ArchiveRestore, Braces, Trash2, X } from 'lucide-react'
import { Button, IconButton } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'

interface Props {
  count: number
  /** All sessions of the list are selected. */
  whole: boolean
  /** All selected sessions are archived. */
  archived: boolean
  onAll: (on: boolean) => void
  onDone: () => void
  onArchive: (archived: boolean) => void
  onExport: () => void
  onDelete: () => void
}

/** The number of selected sessions, and the actions on all of them. */
export function ChooseBar(props: Props) {
  const { count, whole, archived, onAll, onDone, onArchive, onExport, onDelete } = props
  const t = useT()
  const none = count === 0
  const Move = archived ? ArchiveRestore : Archive
  return (
    <div className="sticky top-0 z-10 space-y-1 rounded-md border bg-pane-2 p-1.5">
      <div className="flex items-center gap-1">
        <span role="status" className="me-auto px-1 text-small">
          {t('chosenCount', { n: count })}
        </span>
        <Button size="small" look="ghost" onClick={() => onAll(!whole)}>
          {t(whole ? 'chooseNone' : 'chooseAll')}
        </Button>
        <IconButton label={t('chooseDone')} size="smallIcon" onClick={onDone}>
          <X size={15} aria-hidden />
        </IconButton>
      </div>
      <div className="flex flex-wrap gap-1">
        <Button size="small" disabled={none} onClick={() => onArchive(!archived)}>
          <Move size={13} aria-hidden />
          {t(archived ? 'unarchive' : 'archive')}
        </Button>
        <Button size="small" disabled={none} onClick={onExport}>
          <Braces size={13} aria-hidden />
          {t('exportJson')}
        </Button>
        <Button size="small" look="danger" disabled={none} onClick={onDelete}>
          <Trash2 size={13} aria-hidden />
          {t('delete')}
        </Button>
      </div>
    </div>
  )
}
