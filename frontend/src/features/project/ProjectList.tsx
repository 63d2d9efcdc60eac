import { Filter, FolderPlus, Undo2 } from 'lucide-react'
import { useEffect, useId, useRef, useState } from 'react'
import { useDeletedProjects, useProjects } from '@/api/projectQueries'
import { keys, refresh } from '@/api/queries'
import type { Project } from '@/api/types'
import { DropZone } from '@/components/DropZone'
import { Banner } from '@/components/ui/Banner'
import { Button } from '@/components/ui/Button'
import { Input } from '@/components/ui/Input'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { matches } from '@/lib/match'
import { reasonOf } from '@/lib/reason'
import { droppedFolders } from './folder'
import { bringBack, remove } from './manage'
import { ProjectInvitations } from './ProjectInvitations'
import { DeletedProject, ProjectRow } from './ProjectRow'
import { ownProjects } from './place'

/** Number of projects above which there is a field to filter them. */
const MANY = 8

interface Props {
  /** What has just happened. */
  said: string | null
  /** Creates a project, of the folders that were dropped if any were. */
  onNew: (dropped: readonly FileSystemDirectoryEntry[] | null) => void
  onEdit: (project: Project) => void
  /** Null on a server for one person. */
  onMembers: ((project: Project) => void) | null
  /** Gives a linked project another folder. */
  onLinkAgain: (project: Project) => void
  onOpen: (id: string) => void
}

/** What has just happened to a project; a deletion can be undone. */
type News = { kind: 'said'; words: string } | { kind: 'failed'; words: string } | Deletion
interface Deletion {
  kind: 'deleted'
  project: Project
}

/** All projects, and those that can be restored. */
export function ProjectList({ said, onNew, onEdit, onMembers, onLinkAgain, onOpen }: Props) {
  const t = useT()
  const { data, error } = useProjects()
  // Nobody tells that a linked folder is gone, or back.
  useEffect(() => refresh(keys.projects), [])
  const [query, setQuery] = useState('')
  const [news, setNews] = useState<News | null>(said === null ? null : { kind: 'said', words: said })
  const own = ownProjects(data ?? [])
  const shown = own.filter(({ name, description }) => matches(`${name} ${description}`, query))
  const failed = (cause: unknown) =>
    setNews({ kind: 'failed', words: t('notDone', { reason: reasonOf(cause) }) })
  const onDelete = (project: Project) =>
    void remove(project).then(() => setNews({ kind: 'deleted', project }), failed)
  const onRestore = (id: string) =>
    void bringBack(id).then(({ name }) => {
      setNews({ kind: 'said', words: t('projectRestored', { name }) })
      heading.current?.focus()
    }, failed)
  const heading = useRef<HTMLParagraphElement>(null)
  const onAnswer = (answer: () => Promise<string>) => {
    // The button that was pressed is about to vanish.
    heading.current?.focus()
    void answer().then(words => setNews({ kind: 'said', words }), failed)
  }
  return (
    <DropZone words={t('projectDropFolder')} onFiles={(_, transfer) => onNew(droppedFolders(transfer))}>
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <p ref={heading} tabIndex={-1} className="min-w-0 flex-1 basis-60 text-[13px] text-fg-2 outline-none">
          {t('projectsHint')}
        </p>
        <Button look="solid" onClick={() => onNew(null)}>
          <FolderPlus size={15} aria-hidden />
          {t('newProject')}
        </Button>
      </div>
      {news && <NewsLine news={news} onUndo={onRestore} />}
      <div className="mb-2 empty:hidden">
        <ProjectInvitations onAnswer={onAnswer} />
      </div>
      {own.length > MANY && (
        <Input
          type="search"
          size="medium"
          icon={Filter}
          aria-label={t('projectsFilter')}
          placeholder={t('projectsFilter')}
          value={query}
          onChange={event => setQuery(event.target.value)}
          className="mb-2"
        />
      )}
      {error ? (
        <QueryError error={error} />
      ) : !data ? (
        <Skeleton label={t('loading')} rows={3} />
      ) : own.length === 0 ? (
        <p className="py-4 text-center text-[13px] text-fg-3">{t('projectsNone')}</p>
      ) : shown.length === 0 ? (
        <p role="status" className="py-4 text-center text-[13px] text-fg-3">
          {t('nothingFound')}
        </p>
      ) : (
        <ul aria-label={t('projectList')} className="space-y-1.5">
          {shown.map(project => (
            <ProjectRow
              key={project.id}
              project={project}
              onOpen={() => onOpen(project.id)}
              onMembers={onMembers && (() => onMembers(project))}
              onEdit={() => onEdit(project)}
              onLinkAgain={() => onLinkAgain(project)}
              onDelete={() => onDelete(project)}
            />
          ))}
        </ul>
      )}
      <Deleted onRestore={onRestore} />
    </DropZone>
  )
}

function NewsLine({ news, onUndo }: { news: News; onUndo: (id: string) => void }) {
  const t = useT()
  if (news.kind !== 'deleted')
    return (
      <Banner
        boxed
        tone={news.kind === 'failed' ? 'bad' : 'news'}
        role={news.kind === 'failed' ? 'alert' : 'status'}
      >
        {news.words}
      </Banner>
    )
  const { id, name, linked, path } = news.project
  return (
    <Banner
      boxed
      tone="news"
      role="status"
      actions={
        // What had the focus is gone.
        <Button key={id} size="small" autoFocus onClick={() => onUndo(id)}>
          <Undo2 size={13} aria-hidden />
          {t('undo')}
        </Button>
      }
    >
      {linked ? t('projectUnlinked', { name, path }) : t('projectDeleted', { name })}
    </Banner>
  )
}

function Deleted({ onRestore }: { onRestore: (id: string) => void }) {
  const t = useT()
  const id = useId()
  const { data } = useDeletedProjects()
  if (!data || data.length === 0) return null
  return (
    <section aria-labelledby={id} className="mt-5">
      <h3 id={id} className="mb-1 font-semibold text-[13.5px]">
        {t('deletedProjects')}
      </h3>
      <p className="mb-1.5 text-fg-3 text-small">{t('deletedProjectsHint')}</p>
      <ul className="space-y-1.5">
        {data.map(project => (
          <DeletedProject key={project.id} project={project} onRestore={() => onRestore(project.id)} />
        ))}
      </ul>
    </section>
  )
}
