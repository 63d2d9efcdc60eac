/** The places that the tools of a conversation can work in. */
import type { Project } from '@/api/types'
import type { Translate } from '@/lib/i18n'

/** The project whose folder is the one of commands. Every home has it. */
export const SCRATCH = 'scratch'

type Named = Pick<Project, 'id' | 'name'>

/** A project that the server does not name has its id as its name. */
export const projectName = (id: string, projects: readonly Named[] = []): string =>
  id === SCRATCH ? 'scratch/' : (projects.find(project => project.id === id)?.name ?? id)

/** What a conversation works in: a project, or the home. */
export const placeName = (projectId: string | null, t: Translate, projects?: readonly Named[]): string =>
  projectId === null ? t('placeHome') : projectName(projectId, projects)

/** The projects apart from scratch, by name. */
export const ownProjects = <P extends Named>(projects: readonly P[]): P[] =>
  projects
    .filter(({ id }) => id !== SCRATCH)
    .sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }))
