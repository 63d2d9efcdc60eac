/** The projects as choices of a list. */
import { FolderCode, FolderSymlink } from 'lucide-react'
import type { Project } from '@/api/conversations'
import type { Choice } from '@/components/ui/ChoiceList'
import type { Translate } from '@/lib/i18n'
import { ownProjects, projectName, SCRATCH } from './place'

/** What tells a project from another: its description; without one, the folder, of a linked project always. */
const hintOf = ({ description, path, linked }: Project): string =>
  linked ? [description, path].filter(Boolean).join(' · ') : description || path

/** scratch/, then the projects of the server by name. A chosen project that is none of them comes last. */
export function projectChoices(projects: readonly Project[], chosen: string | null, t: Translate): Choice[] {
  const own = ownProjects(projects)
  const known = chosen === null || chosen === SCRATCH || own.some(({ id }) => id === chosen)
  return [
    { value: SCRATCH, words: projectName(SCRATCH), hint: t('placeScratchHint'), icon: FolderCode },
    ...own.map(project => ({
      value: project.id,
      words: project.name,
      hint: hintOf(project),
      icon: project.linked ? FolderSymlink : FolderCode,
    })),
    ...(known ? [] : [{ value: chosen, words: chosen, icon: FolderCode }]),
  ]
}
