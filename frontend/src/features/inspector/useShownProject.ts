import { useEffect } from 'react'
import { useProjects } from '@/api/projectQueries'
import { useCommandContext } from '@/app/commandContext'
import { SCRATCH } from '@/features/project/place'
import { useNewChoice } from '@/stores/choice'
import { useLive } from '@/stores/live'
import { useProject } from '@/stores/project'
import { useUi } from '@/stores/ui'
import { shownThread } from '@/thread/loaded'

/** The project that the conversation on the screen works in; undefined until it is known. */
export function useProjectBeside(): string | null | undefined {
  const { sessionId } = useCommandContext()
  const fresh = useNewChoice(s => s.projectId)
  const bound = useLive(s => (sessionId ? shownThread(s.threads[sessionId])?.projectId : undefined))
  return sessionId === null ? fresh : bound
}

/**
 * The project whose files are shown: the one that a person wanted to see beside this conversation, else that of the
 * conversation, else the one whose conversations are listed.
 */
export function useShownProject(): string | null {
  const chosen = useUi(ui => ui.project)
  const projects = useProjects().data
  const isGone = projects && chosen?.id !== SCRATCH && !projects.some(({ id }) => id === chosen?.id)
  const wanted = isGone ? null : chosen
  const listed = useProject(s => s.id)
  const beside = useProjectBeside()
  const isNew = wanted !== null && wanted.beside === undefined
  const stays = wanted !== null && (isNew || beside === undefined || wanted.beside === beside)
  useEffect(() => {
    if (isNew && beside !== undefined)
      useUi.setState(({ project }) => ({ project: project && { ...project, beside } }))
  }, [isNew, beside])
  return stays ? wanted.id : (beside ?? listed)
}
