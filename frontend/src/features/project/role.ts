/** What the person may do in a project. The server decides; the page leaves out what it would refuse. */
import { isMulti } from '@/api/multi'
import { useProjects } from '@/api/projectQueries'
import type { Project, ProjectRole } from '@/api/types'
import { projectOf, type Root } from '@/lib/roots'
import { isGone } from './gone'
import { SCRATCH } from './place'

/** A server without members has only owners. */
export const roleIn = (project: Pick<Project, 'role'> | undefined): ProjectRole => project?.role ?? 'owner'

/** The owner's user name, if that is somebody else. */
export const sharedBy = (project: Pick<Project, 'role' | 'owner'> | undefined): string | null =>
  (roleIn(project) !== 'owner' && project?.owner) || null

const find = (id: string | null, projects: readonly Project[] | undefined) =>
  id === null ? undefined : projects?.find(project => project.id === id)

export const useProjectOf = (id: string | null): Project | undefined => find(id, useProjects().data)

/** What the person may do with the files of a root. On a server with accounts, unknown until the projects are there. */
export type Access = 'write' | 'read' | 'unknown' | 'gone'

/** The home and its scratch folder are always the person's; so is each project on a server for one person. */
export function useAccess(root: Root): Access {
  const projects = useProjects().data
  const id = projectOf(root)
  if (id === null || id === SCRATCH) return 'write'
  if (isGone(root, projects)) return 'gone'
  if (!isMulti()) return 'write'
  const project = find(id, projects)
  if (project === undefined) return 'unknown'
  return roleIn(project) === 'viewer' ? 'read' : 'write'
}
