/** What of past conversations the agent may find. */
import * as api from '@/api/endpoints'
import { keys, refresh } from '@/api/queries'
import { t } from '@/lib/i18n'
import { toast } from '@/stores/toasts'
import { attempt } from './threads'

/** Excludes a session from recall, or includes it again. */
export async function setRecall(session: string, title: string, excluded: boolean): Promise<void> {
  await attempt(async () => {
    await (excluded ? api.excludeFromRecall(session) : api.includeInRecall(session))
    toast(t(excluded ? 'excludedFromRecall' : 'includedInRecall', { title }))
  })
  refresh(keys.sessions)
}

/** Whether RAG mode also searches past conversations; only while it is on. */
export async function switchRagConversations(conversations: boolean): Promise<void> {
  await attempt(() => api.setRagConversations(true, conversations))
  refresh(keys.status)
}
