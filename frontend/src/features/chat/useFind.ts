import { useMemo, useState } from 'react'
import { useUi } from '@/stores/ui'
import { entriesWith } from '@/thread/find'
import type { Thread } from '@/thread/model'

/** The search in the open conversation: its matches, and the current one. It starts with the newest. */
export function useFind(thread: Thread | null) {
  const query = useUi(s => s.find)
  const [step, setStep] = useState(0)
  const found = useMemo(() => entriesWith(thread, query ?? ''), [thread, query])
  const last = found.length - 1
  const at = found.length === 0 ? 0 : (((last + step) % found.length) + found.length) % found.length
  return {
    open: query !== null,
    query: query ?? '',
    count: found.length,
    at,
    target: query === null ? null : (found[at] ?? null),
    onQuery: (find: string) => {
      setStep(0)
      useUi.setState({ find })
    },
    onStep: (by: 1 | -1) => setStep(step + by),
    onClose: () => {
      setStep(0)
      useUi.setState({ find: null })
    },
  }
}
