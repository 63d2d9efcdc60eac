import { useEffect, useMemo, useState } from 'react'
import { hasCode } from '@/api/client'
import { useCited } from '@/api/queries'
import type { CitedMessage } from '@/api/types'
import { loadEarlier } from '@/app/threads'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { setFold } from '@/stores/folds'
import { toast } from '@/stores/toasts'
import { useUi } from '@/stores/ui'
import type { Loaded } from '@/thread/loaded'
import { entryOf } from '@/thread/places'
import { recalledWords } from './recalled'

/** A message that the address names and the conversation does not show. */
export interface Cited {
  message: CitedMessage
  /** The words by which it was found, if any. */
  words: string
}

/**
 * The row of the message that the address names, or the message itself if the conversation does not show it: a summary
 * replaces it, or it is on another branch. Shows a toast if that message is gone.
 */
export function useTarget(sessionId: string | null, message: string | null, loaded: Loaded | undefined) {
  const thread = loaded?.phase === 'ready' && loaded.thread.sessionId === sessionId ? loaded.thread : null
  const row = thread && message !== null ? entryOf(thread, message) : null
  const sought = thread !== null && message !== null && row === null
  const earlier = sought ? thread.earlier : null
  const missing = sought && !earlier
  const { data, error } = useCited(missing ? sessionId : null, message)
  const [words, setWords] = useState('')
  useEffect(() => {
    if (earlier && sessionId !== null) void loadEarlier(sessionId, 'all')
  }, [earlier, sessionId])
  useEffect(() => {
    if (!missing || error === null) return
    const gone = hasCode(error, 'not_found')
    toast(gone ? t('messageGone') : t('loadFailed', { reason: reasonOf(error) }), gone ? {} : { tone: 'bad' })
  }, [missing, error])
  const found = missing ? data : undefined
  useEffect(() => {
    if (!found || sessionId === null || message === null) return
    const { find, findAt } = useUi.getState()
    setWords((findAt === message ? find : null) ?? recalledWords({ session: sessionId, message }) ?? '')
    // The search goes on in what the conversation shows, which does not contain this message.
    useUi.setState({ find: null, findAt: null })
    if (found.position === 'compacted') setFold('summary', true)
  }, [found, sessionId, message])
  const cited = useMemo<Cited | null>(() => (found ? { message: found, words } : null), [found, words])
  return { row, cited }
}
