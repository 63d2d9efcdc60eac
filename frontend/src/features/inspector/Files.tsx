import { useMemo, useState } from 'react'
import { useFiles, useSkills, useUntrusted } from '@/api/queries'
import type { FileEntry } from '@/api/types'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { createsSkills, type FileRef, type Root } from '@/lib/roots'
import type { FileActions } from './FileMenu'
import { FileTree } from './FileTree'
import type { FolderActions } from './FolderMenu'
import { SkillList } from './SkillList'
import { useTree } from './useTree'

interface Props {
  root: Root
  filter: string
  /** The problem with a file, or null. */
  problemOf: (file: FileEntry) => string | null
  current: string | null
  dirty: ReadonlySet<string>
  onOpen: (file: FileRef) => void
  /** What changes a file; null if nobody may. */
  actions: FileActions | null
  folderActions?: FolderActions | null
}

/** The files of one tab; the skills tab starts with the list of skills. */
export function Files({ root, filter, problemOf, current, dirty, onOpen, actions, folderActions }: Props) {
  const t = useT()
  const wanted = filter.trim().toLowerCase()
  const [scroller, setScroller] = useState<HTMLElement | null>(null)
  const { folderOf, allOpen, error } = useTree(root, wanted)
  const skills = useShownSkills(root, wanted)
  const untrusted = useUntrusted().data?.map(file => file.path) ?? []
  const top = folderOf(root)?.content
  if (!top) {
    return error ? <QueryError error={error} className="p-3" /> : <Skeleton label={t('loading')} rows={3} />
  }
  if (skills.shown.length + top.folders.length + top.files.length === 0) {
    return <p className="px-3 py-2 text-fg-3 text-small">{t(wanted ? 'noMatch' : 'noFiles')}</p>
  }
  return (
    <div ref={setScroller} className="scroll max-h-(--list) min-h-20 px-2 pb-2">
      <SkillList
        skills={skills.shown}
        tokens={skills.tokens}
        untrusted={untrusted}
        current={current}
        dirty={dirty}
        onOpen={onOpen}
        actions={actions}
      />
      <FileTree
        folderOf={folderOf}
        problemOf={problemOf}
        scroller={scroller}
        root={root}
        allOpen={allOpen}
        untrusted={untrusted}
        current={current}
        dirty={dirty}
        onOpen={onOpen}
        actions={actions}
        folderActions={folderActions}
      />
    </div>
  )
}

/** The skills whose name or description matches, and the tokens of their files. */
function useShownSkills(root: Root, wanted: string) {
  const isShown = createsSkills(root)
  const skills = useSkills().data
  const files = useFiles(root, isShown).data
  const tokens = useMemo(() => new Map(files?.map(f => [f.path, f.tokens ?? null])), [files])
  const known = isShown ? (skills ?? []) : []
  return { shown: known.filter(s => `${s.name} ${s.description}`.toLowerCase().includes(wanted)), tokens }
}
