/** What a person does with the queued messages of a conversation. */
import * as api from '@/api/endpoints'
import { attempt, send } from '@/app/threads'
import { t } from '@/lib/i18n'
import '@/lib/later'
import { toast } from '@/stores/toasts'
import type { QueuedMessage } from '@/thread/model'

export async function editQueued(session: string, message: string, content: string): Promise<void> {
  await attempt(() => api.editQueued(session, message, content))
}

/** Interrupts the run under way and sends a queued message. */
export async function sendQueuedNow(session: string, message: string): Promise<void> {
  await attempt(() => api.sendQueued(session, message))
}

export async function removeQueued(session: string, message: QueuedMessage): Promise<void> {
  if (!(await attempt(() => api.removeQueued(session, message.id)))) return
  toast(t('removedQueued'), { action: { label: t('undo'), run: () => send(session, message) } })
}
