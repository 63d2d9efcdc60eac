import { useEffect, useRef, useState } from 'react'
import { ApiError } from '@/api/client'
import { getCompressionPlan, proposeSummary } from '@/api/endpoints'
import type { CompressionPlan, ProposedSummary } from '@/api/types'
import { reasonOf } from '@/lib/reason'

export type Proposal =
  | { phase: 'loading' }
  | { phase: 'failed'; reason: string; code: string }
  | { phase: 'plan'; plan: CompressionPlan; problem: string | null }
  | { phase: 'asking'; plan: CompressionPlan }
  /** `proposed` is null if the person writes the summary. */
  | { phase: 'review'; plan: CompressionPlan; proposed: ProposedSummary | null }

const failure = (error: unknown): { phase: 'failed'; reason: string; code: string } => ({
  phase: 'failed',
  reason: reasonOf(error),
  code: error instanceof ApiError ? error.code : 'error',
})

/** Loads the plan of the compression, then requests a summary from the model, which can be cancelled. */
export function useProposal(sessionId: string) {
  const [state, setState] = useState<Proposal>({ phase: 'loading' })
  const asking = useRef<AbortController | null>(null)
  const look = () => {
    const aborter = new AbortController()
    asking.current?.abort()
    asking.current = aborter
    setState({ phase: 'loading' })
    getCompressionPlan(sessionId, aborter.signal)
      .then(plan => setState({ phase: 'plan', plan, problem: null }))
      .catch((error: unknown) => aborter.signal.aborted || setState(failure(error)))
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each conversation
  useEffect(() => {
    look()
    // Closing the dialog cancels the request: the model stops.
    return () => asking.current?.abort()
  }, [sessionId])

  const ask = (plan: CompressionPlan) => {
    const aborter = new AbortController()
    asking.current = aborter
    setState({ phase: 'asking', plan })
    proposeSummary(sessionId, plan.hash, aborter.signal)
      .then(proposed => setState({ phase: 'review', plan, proposed }))
      .catch((error: unknown) => {
        if (aborter.signal.aborted) return
        const failed = failure(error)
        setState(failed.code === 'changed_since' ? failed : { phase: 'plan', plan, problem: failed.reason })
      })
  }
  const callOff = (plan: CompressionPlan) => {
    asking.current?.abort()
    setState({ phase: 'plan', plan, problem: null })
  }
  const write = (plan: CompressionPlan) => setState({ phase: 'review', plan, proposed: null })
  return { state, look, ask, callOff, write }
}
