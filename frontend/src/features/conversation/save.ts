import { changeConversation } from '@/api/conversations'
import { putBound } from '@/api/projectQueries'
import { keys, patchSession, queryClient, refresh } from '@/api/queries'
import type { ConversationChange } from '@/api/types'
import { holdMessages } from '@/app/threads'
import { updateThread } from '@/stores/live'
import { shownThread, withChosen, withProject } from '@/thread/loaded'
import { chosenWith } from './values'

/**
 * Changes what is chosen for a conversation. A message that is sent meanwhile waits, and is not sent if the change is
 * refused. Throws what the server refused.
 */
export async function saveConversation(id: string, change: ConversationChange): Promise<void> {
  const saving = changeConversation(id, change)
  const held = holdMessages(
    id,
    saving.then(
      () => true,
      () => false,
    ),
  )
  try {
    const saved = await saving
    queryClient.setQueryData(keys.conversation(id), saved)
    updateThread(id, loaded => {
      const thread = shownThread(loaded)
      if (!loaded || !thread) return loaded
      return withProject(withChosen(loaded, chosenWith(thread.chosen, change)), saved.project_id ?? null)
    })
    patchSession(id, { title: saved.title })
    putBound(id, saved.project_id ?? null)
    refresh(keys.sessionTokens(id))
    if (change.title !== undefined) refresh(keys.sessions)
  } finally {
    await held
  }
}
