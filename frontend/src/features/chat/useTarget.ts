import { useEffect } from 'react'
import { loadEarlier } from '@/app/threads'
import { t } from '@/lib/i18n'
import { toast } from '@/stores/toasts'
import type { Loaded } from '@/thread/loaded'
import { entryOf } from '@/thread/places'

/** The row of the message that the address names; shows a toast if that message is gone. */
export function useTarget(sessionId: string | null, message: string | null, loaded: Loaded | undefined) {
  const thread = loaded?.phase === 'ready' && loaded.thread.sessionId === sessionId ? loaded.thread : null
  const row = thread && message !== null ? entryOf(thread, message) : null
  const sought = thread !== null && message !== null && row === null
  const earlier = sought ? thread.earlier : null
  const missing = sought && !earlier
  useEffect(() => {
    if (earlier && sessionId !== null) void loadEarlier(sessionId, 'all')
  }, [earlier, sessionId])
  useEffect(() => {
    if (missing) toast(t('messageGone'))
  }, [missing])
  return row
}
