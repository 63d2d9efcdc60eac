import { useEffect, useMemo, useState } from 'react'
import { loadEarlier } from '@/app/threads'
import { setFold } from '@/stores/folds'
import { useUi } from '@/stores/ui'
import { entriesWith, foldsAround } from '@/thread/find'
import type { Thread } from '@/thread/model'
import { entryOf } from '@/thread/places'

/**
 * The search in the open conversation: its matches, and the current one. It starts with the newest, or with the
 * one that a search in all conversations led to.
 */
export function useFind(thread: Thread | null) {
  const query = useUi(s => s.find)
  const findAt = useUi(s => s.findAt)
  const [step, setStep] = useState(0)
  const sessionId = thread?.sessionId
  const earlier = query === null ? null : thread?.earlier
  // A reload has new ones, so that it does not end the search in part of the conversation.
  useEffect(() => {
    if (earlier && sessionId !== undefined) void loadEarlier(sessionId, 'all')
  }, [earlier, sessionId])
  const found = useMemo(() => entriesWith(thread, query ?? ''), [thread, query])
  const asked = thread && findAt !== null ? found.indexOf(entryOf(thread, findAt) ?? '') : -1
  const start = asked < 0 ? found.length - 1 : asked
  const at = found.length === 0 ? 0 : (((start + step) % found.length) + found.length) % found.length
  const target = query === null ? null : (found[at] ?? null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each match, while its entry may still grow
  useEffect(() => {
    for (const id of foldsAround(thread, target, query ?? '')) setFold(id, true)
  }, [target, query])
  return {
    open: query !== null,
    query: query ?? '',
    count: found.length,
    at,
    target,
    onQuery: (find: string) => {
      setStep(0)
      useUi.setState({ find, findAt: null })
    },
    onStep: (by: 1 | -1) => setStep(step + by),
    onClose: () => {
      setStep(0)
      useUi.setState({ find: null, findAt: null })
    },
  }
}
