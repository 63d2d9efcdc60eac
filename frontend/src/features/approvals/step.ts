/** Allowing all pending calls of one step of a model at once: each by its own request, for what was shown of it. */
import { useRef, useState } from 'react'
import type { Approval } from '@/api/types'
import { useMounted } from '@/lib/mounted'
import { answer } from './actions'
import { approvalCards, stepBars } from './cards'

export interface AllowingStep {
  bar: React.RefObject<HTMLDivElement | null>
  busy: boolean
  /** Why some calls could not be allowed. */
  problems: string[]
  onAllow: () => void
}

export function useAllowStep(workId: string, approvals: readonly Approval[]): AllowingStep {
  const bar = useRef<HTMLDivElement>(null)
  const [busy, setBusy] = useState(false)
  const [problems, setProblems] = useState<string[]>([])
  const allow = async () => {
    if (busy) return
    setBusy(true)
    const refused: string[] = []
    // A call with an open form is being edited or denied: its card decides.
    for (const approval of approvals.filter(({ id }) => !approvalCards.get(id)?.form)) {
      const reason = await answer(approval, { decision: 'approve' })
      if (reason !== null) refused.push(reason)
    }
    setProblems([...new Set(refused)])
    setBusy(false)
  }
  useMounted(stepBars, workId, {
    element: () => (approvals.length > 1 ? bar.current : null),
    allow: () => void allow(),
  })
  return { bar, busy, problems, onAllow: () => void allow() }
}
