/** Cached reads of projects. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { nameProjects } from '@/lib/roots'
import { putPlaces } from '@/stores/places'
import { keys, queryClient } from './queries'
import type { Project } from './types'

/** The projects of the server; it need not tell scratch. Their code is loaded when they are first needed. */
export const useProjects = (enabled = true) =>
  useQuery({
    queryKey: keys.projects,
    enabled,
    queryFn: async () => {
      const projects = await (await import('./conversations')).listProjects()
      nameProjects(projects)
      return projects
    },
  })
/** Puts a project into the list, which shows it before the list is read again. */
export function putProject(project: Project): void {
  nameProjects([project])
  queryClient.setQueryData<Project[]>(
    keys.projects,
    list => list && [project, ...list.filter(({ id }) => id !== project.id)],
  )
}
/** The deleted projects that can be restored. */
export const useDeletedProjects = () =>
  useQuery({
    queryKey: keys.deletedProjects,
    queryFn: async () => (await import('./projects')).listDeletedProjects(),
    staleTime: 0,
  })
/** Files of a project by words of their names; the previous ones stay until the next ones arrive. */
export const useFoundNames = (id: string, text: string, limit: number) =>
  useQuery({
    queryKey: ['found-names', id, text, limit],
    queryFn: async () => (await import('./projects')).findFiles(id, text, limit),
    enabled: id !== '' && text !== '',
    placeholderData: keepPreviousData,
    staleTime: 0,
  })
/** Lines of the files of a project with a text; searched anew each time, like those of the home. */
export const useFoundInProject = (id: string, text: string) =>
  useQuery({
    queryKey: ['found-text', id, text],
    queryFn: async () => (await import('./projects')).searchProject(id, text),
    enabled: text !== '',
    placeholderData: keepPreviousData,
    staleTime: 0,
  })

/** Milliseconds between searches while the index of a project grows. */
const GROWING_MS = 1_500

/** Passages of the files of a project that answer a question; searched again while there is more to index. */
export const useFoundPassages = (id: string, text: string) =>
  useQuery({
    queryKey: ['found-passages', id, text],
    queryFn: async () => (await import('./projects')).searchPassages(id, text),
    enabled: text !== '',
    placeholderData: keepPreviousData,
    staleTime: 0,
    refetchInterval: ({ state }) => {
      const growing = ['building', 'embedding'].includes(state.data?.index.state ?? '')
      return growing && state.status !== 'error' ? GROWING_MS : false
    },
  })

/** Moves a conversation to the list of its project, as far as such lists are loaded. */
export function putBound(session: string, project: string | null): void {
  putPlaces({ [session]: project })
  for (const [key] of queryClient.getQueriesData<string[]>({ queryKey: keys.everyBound }))
    queryClient.setQueryData<string[]>(key, ids => {
      const others = ids?.filter(id => id !== session)
      return others && key[2] === project ? [session, ...others] : others
    })
}
