import { useMemo, useState } from 'react'
import type { Root } from '@/api/endpoints'
import type { FileEntry, Skill } from '@/api/types'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { ROOT_TRAITS } from '@/lib/roots'
import type { FileActions } from './FileMenu'
import { FileTree } from './FileTree'
import { SkillList } from './SkillList'
import { matching } from './tree'

interface Props {
  root: Root
  files: FileEntry[] | undefined
  skills: Skill[] | undefined
  /** Paths of files that nobody has trusted as they are. */
  untrusted: readonly string[]
  error: unknown
  filter: string
  current: string | null
  dirty: ReadonlySet<string>
  onOpen: (path: string) => void
  actions: FileActions
}

/** The files of one tab; on the skills tab, what the skills say of themselves comes first. */
export function Files({
  root,
  files,
  skills,
  untrusted,
  error,
  filter,
  current,
  dirty,
  onOpen,
  actions,
}: Props) {
  const t = useT()
  const wanted = filter.trim().toLowerCase()
  const [scroller, setScroller] = useState<HTMLElement | null>(null)
  const known = useMemo(() => (ROOT_TRAITS[root].holds === 'skills' ? (skills ?? []) : []), [root, skills])
  const shownSkills = known.filter(s => `${s.name} ${s.description}`.toLowerCase().includes(wanted))
  const tokens = useMemo(() => new Map(files?.map(f => [f.path, f.tokens ?? null])), [files])
  const shownFiles = useMemo(() => {
    const located = new Set(known.map(s => s.location))
    return matching(
      files ?? [],
      root,
      f => !located.has(f.path) && (wanted === '' || f.path.toLowerCase().includes(wanted)),
    )
  }, [files, root, known, wanted])
  if (!files) {
    return error ? <QueryError error={error} className="p-3" /> : <Skeleton label={t('loading')} rows={3} />
  }
  if (shownSkills.length + shownFiles.length === 0) {
    return <p className="px-3 py-2 text-fg-3 text-small">{t(wanted ? 'noMatch' : 'noFiles')}</p>
  }
  return (
    <div ref={setScroller} className="scroll max-h-[34vh] min-h-0 px-2 pb-2">
      <SkillList
        skills={shownSkills}
        tokens={tokens}
        untrusted={untrusted}
        current={current}
        dirty={dirty}
        onOpen={onOpen}
        actions={actions}
      />
      <FileTree
        files={shownFiles}
        scroller={scroller}
        root={root}
        allOpen={wanted !== ''}
        untrusted={untrusted}
        current={current}
        dirty={dirty}
        onOpen={onOpen}
        actions={actions}
      />
    </div>
  )
}
