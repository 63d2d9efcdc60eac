import { useProjects } from '@/api/projectQueries'
import type { Project } from '@/api/types'
import { projectOf, type Root } from '@/lib/roots'
import { SCRATCH } from './place'

/** Whether the project of a root is none of the person's any more: it was deleted, or is no longer shared with them. */
export function isGone(root: Root, projects: readonly Pick<Project, 'id'>[] | undefined): boolean {
  const id = projectOf(root)
  return (
    id !== null && id !== SCRATCH && projects !== undefined && !projects.some(project => project.id === id)
  )
}

export function useGone(root: Root | null): boolean {
  const projects = useProjects().data
  return root !== null && isGone(root, projects)
}
