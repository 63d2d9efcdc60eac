import { ArchiveRestore, FolderCode, FolderX, Pencil, Trash2 } from 'lucide-react'
import type { Project } from '@/api/types'
import { Button, IconButton } from '@/components/ui/Button'
import { Toolbar } from '@/components/ui/Toolbar'
import { moment } from '@/lib/format'
import { locale, useLang, useT } from '@/lib/i18n'

interface RowProps {
  project: Project
  onOpen: () => void
  onEdit: () => void
  onDelete: () => void
}

const ROW = 'flex flex-wrap items-center gap-x-2 gap-y-1 rounded-md border px-2.5 py-1.5 text-[13px]'

/** A project in the list, with what can be done with it. */
export function ProjectRow({ project, onOpen, onEdit, onDelete }: RowProps) {
  const t = useT()
  const { name, path, description } = project
  return (
    <li className={ROW}>
      <FolderCode size={15} aria-hidden className="shrink-0 text-accent" />
      <span className="min-w-0 flex-1 basis-40">
        <span className="block truncate font-medium" title={name}>
          {name}
        </span>
        <span className="block truncate text-fg-3 text-small" title={description || path}>
          {description || <span className="font-mono text-[11.5px]">{`workspaces/${path}`}</span>}
        </span>
      </span>
      <Toolbar label={name} className="flex items-center gap-1">
        <Button size="small" aria-label={t('projectOpenThis', { name })} onClick={onOpen}>
          {t('projectOpen')}
        </Button>
        <IconButton label={t('projectEditThis', { name })} size="smallIcon" onClick={onEdit}>
          <Pencil size={14} aria-hidden />
        </IconButton>
        <IconButton label={t('projectDeleteThis', { name })} size="smallIcon" onClick={onDelete}>
          <Trash2 size={14} aria-hidden />
        </IconButton>
      </Toolbar>
    </li>
  )
}

export function DeletedProject({ project, onRestore }: { project: Project; onRestore: () => void }) {
  const t = useT()
  const lang = useLang()
  const { name, deleted_at } = project
  return (
    <li className={ROW}>
      <FolderX size={15} aria-hidden className="shrink-0 text-fg-3" />
      <span className="min-w-0 flex-1 basis-40 truncate" title={name}>
        {name}
      </span>
      {deleted_at && (
        <span className="shrink-0 text-fg-3 text-meta tabular-nums">
          {t('deletedAt', { at: moment(Date.parse(deleted_at) / 1000, locale(lang)) })}
        </span>
      )}
      <Button size="small" aria-label={t('projectRestoreThis', { name })} onClick={onRestore}>
        <ArchiveRestore size={13} aria-hidden />
        {t('bringBack')}
      </Button>
    </li>
  )
}
