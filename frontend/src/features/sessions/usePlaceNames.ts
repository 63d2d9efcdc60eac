import { useEffect } from 'react'
import { useProjects } from '@/api/projectQueries'
import type { SessionSummary } from '@/api/types'
import { ownProjects, projectName, SCRATCH } from '@/features/project/place'
import { type Places, putPlaces, usePlaces } from '@/stores/places'
import { useProject } from '@/stores/project'

let isAsking = false

/** Asks once at a time. A failure is no reason to tell the person: the names are only a help. */
async function ask(ids: readonly string[]): Promise<void> {
  if (isAsking) return
  isAsking = true
  try {
    putPlaces(await (await import('@/api/conversations')).listPlaces(ids))
  } catch {
    // Asked again when the list changes.
  } finally {
    isAsking = false
  }
}

/** What the rows of conversations call the project that they work in; null for the home, and while it is not known. */
export function usePlaceNames(
  sessions: readonly SessionSummary[] | undefined,
): (id: string) => string | null {
  const projects = useProjects().data
  const chosen = useProject(s => s.id)
  const places = usePlaces(s => s.of)
  const wanted = chosen === null && projects !== undefined && ownProjects(projects).length > 0
  useEffect(() => {
    const ids = wanted ? unknown(sessions ?? [], places) : []
    if (ids.length > 0) void ask(ids)
  }, [wanted, sessions, places])
  return id => {
    const project = chosen ?? (wanted ? places[id] : null)
    const known = project === SCRATCH || projects?.some(other => other.id === project)
    return project && known ? projectName(project, projects) : null
  }
}

const unknown = (sessions: readonly SessionSummary[], places: Places): string[] =>
  sessions.flatMap(({ id }) => (id in places ? [] : id))
