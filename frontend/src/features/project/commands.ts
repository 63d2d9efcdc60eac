import { type CommandContext, defineCommands } from '@/app/command'
import { bind } from '@/app/threads'
import { useNewChoice } from '@/stores/choice'
import { useLive } from '@/stores/live'
import { openDialog } from '@/stores/ui'
import { shownThread } from '@/thread/loaded'
import { SCRATCH } from './place'

/** The project of the conversation on the screen; undefined while it cannot be changed. */
function projectOf({ sessionId }: CommandContext): string | null | undefined {
  if (sessionId === null) return useNewChoice.getState().projectId
  const thread = shownThread(useLive.getState().threads[sessionId])
  return thread && thread.running === null ? thread.projectId : undefined
}

const goTo = (place: string | null) => ({
  enabled: (context: CommandContext) => {
    const projectId = projectOf(context)
    return projectId !== undefined && projectId !== place
  },
  run: ({ sessionId }: CommandContext) => void bind(sessionId, place),
})

export const projectCommands = defineCommands([
  {
    id: 'manageProjects',
    label: 'manageProjects',
    keys: null,
    run: () => openDialog({ name: 'projects', begin: 'list' }),
  },
  {
    id: 'newProject',
    label: 'newProject',
    keys: null,
    run: () => openDialog({ name: 'projects', begin: 'new' }),
  },
  { id: 'workInScratch', label: 'workInScratch', keys: null, ...goTo(SCRATCH) },
  { id: 'workInHome', label: 'workInHome', keys: null, ...goTo(null) },
])
