/** What the person may do in a project. The server decides; the page leaves out what it would refuse. */
import { useProjects } from '@/api/projectQueries'
import type { Project, ProjectRole } from '@/api/types'
import { projectOf, type Root } from '@/lib/roots'

/** A server without members has only owners. */
export const roleIn = (project: Pick<Project, 'role'> | undefined): ProjectRole => project?.role ?? 'owner'

/** The owner's user name, if that is somebody else. */
export const sharedBy = (project: Pick<Project, 'role' | 'owner'> | undefined): string | null =>
  (roleIn(project) !== 'owner' && project?.owner) || null

const find = (id: string | null, projects: readonly Project[] | undefined) =>
  id === null ? undefined : projects?.find(project => project.id === id)

export const useProjectOf = (id: string | null): Project | undefined => find(id, useProjects().data)

/** Whether the person may only read the files of a root. The home is always theirs. */
export const useReadOnly = (root: Root): boolean => roleIn(useProjectOf(projectOf(root))) === 'viewer'
