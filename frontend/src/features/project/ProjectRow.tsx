import {
  ArchiveRestore,
  FolderCode,
  FolderSymlink,
  FolderX,
  Pencil,
  Trash2,
  Unlink,
  Users,
} from 'lucide-react'
import type { Project, ProjectRole } from '@/api/types'
import { Button, IconButton } from '@/components/ui/Button'
import { Toolbar } from '@/components/ui/Toolbar'
import { cn } from '@/lib/cn'
import { moment } from '@/lib/format'
import { type Key, locale, useLang, useT } from '@/lib/i18n'
import { roleIn, sharedBy } from './role'

interface RowProps {
  project: Project
  onOpen: () => void
  /** Shows who works in it; null on a server for one person. */
  onMembers: (() => void) | null
  onEdit: () => void
  /** Gives a linked project whose folder is gone another one. */
  onLinkAgain: () => void
  onDelete: () => void
}

const ROW = 'flex flex-wrap items-center gap-x-2 gap-y-1 rounded-md border px-2.5 py-1.5 text-[13px]'

/** A project in the list, with what can be done with it. */
export function ProjectRow({ project, onOpen, onMembers, onEdit, onLinkAgain, onDelete }: RowProps) {
  const t = useT()
  const { name, path, description, linked, available, problem } = project
  const Icon = linked ? FolderSymlink : FolderCode
  const owner = sharedBy(project)
  return (
    <li className={ROW}>
      <Icon size={15} aria-hidden className={cn('shrink-0', available ? 'text-accent' : 'text-warn')} />
      <span className="min-w-0 flex-1 basis-40">
        <span className="block truncate font-medium" title={name}>
          {name}
        </span>
        {owner !== null && (
          <span className="block truncate text-fg-3 text-small">
            {t('projectShared', { owner, role: t(ROLE[roleIn(project)]) })}
          </span>
        )}
        {owner === null && (linked || !description) && (
          <span className="block truncate font-mono text-[11.5px] text-fg-3" title={path}>
            {linked ? path : `workspaces/${path}`}
          </span>
        )}
        {description && (
          <span className="block truncate text-fg-3 text-small" title={description}>
            {description}
          </span>
        )}
        {!available && (
          <span className="block text-small text-warn">
            {t(linked ? problemOf(problem) : 'projectFolderGone')}
          </span>
        )}
      </span>
      <Toolbar label={name} className="flex items-center gap-1">
        {linked && !available && problem !== 'folder_not_here' && (
          <Button size="small" aria-label={t('linkThisAgain', { name })} onClick={onLinkAgain}>
            {t('linkAgain')}
          </Button>
        )}
        <Button size="small" aria-label={t('projectOpenThis', { name })} onClick={onOpen}>
          {t('projectOpen')}
        </Button>
        {onMembers && (
          <IconButton label={t('membersOfThis', { name })} size="smallIcon" onClick={onMembers}>
            <Users size={14} aria-hidden />
          </IconButton>
        )}
        {owner === null && (
          <>
            <IconButton label={t('projectEditThis', { name })} size="smallIcon" onClick={onEdit}>
              <Pencil size={14} aria-hidden />
            </IconButton>
            <IconButton
              label={t(linked ? 'projectUnlinkThis' : 'projectDeleteThis', { name })}
              size="smallIcon"
              onClick={onDelete}
            >
              {linked ? <Unlink size={14} aria-hidden /> : <Trash2 size={14} aria-hidden />}
            </IconButton>
          </>
        )}
      </Toolbar>
    </li>
  )
}

const ROLE: Record<ProjectRole, Key> = { owner: 'roleOwner', editor: 'roleEditor', viewer: 'roleViewer' }

const PROBLEMS: Readonly<Partial<Record<string, Key>>> = {
  folder_missing: 'linkMissing',
  folder_replaced: 'linkReplaced',
  folder_not_readable: 'linkNotReadable',
  folder_not_here: 'linkNotHere',
}

/** Why the folder of a linked project cannot be used, and what a person can do. */
const problemOf = (code: string | null | undefined): Key => PROBLEMS[code ?? ''] ?? 'linkMissing'

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
