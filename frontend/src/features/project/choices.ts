/** The projects as choices of a list. */
import { FolderCode } from 'lucide-react'
import type { Project } from '@/api/types'
import type { Choice } from '@/components/ui/ChoiceList'
import type { Translate } from '@/lib/i18n'
import { ownProjects, projectName, SCRATCH } from './place'
import { sharedBy } from './role'

/** scratch/, then the projects of the server by name. A chosen project that is none of them comes last. */
export function projectChoices(projects: readonly Project[], chosen: string | null, t: Translate): Choice[] {
  const own = ownProjects(projects)
  const known = chosen === null || chosen === SCRATCH || own.some(({ id }) => id === chosen)
  return [
    { value: SCRATCH, words: projectName(SCRATCH), hint: t('placeScratchHint'), icon: FolderCode },
    ...own.map(project => ({
      value: project.id,
      words: project.name,
      hint: hintOf(project, t),
      icon: FolderCode,
    })),
    ...(known ? [] : [{ value: chosen, words: chosen, icon: FolderCode }]),
  ]
}

/**
 * Whose a shared project is, what it is about, and where the folder of a linked one is. Any other folder has the name of its
 * project.
 */
function hintOf(project: Project, t: Translate): string {
  const { description, linked, path } = project
  const owner = sharedBy(project)
  const parts = [
    owner !== null && t('projectSharedBy', { owner }),
    description,
    owner === null && linked && path,
  ]
  return parts.filter(Boolean).join(' · ')
}
