import { useEffect } from 'react'
import { hasCode } from '@/api/client'
import { holdApproval } from '@/api/endpoints'
import { extendApproval, keys, refresh } from '@/api/queries'
import type { Approval } from '@/api/types'
import { setHeld } from './held'

/** Seconds between two holds. A third of the time that is left, so that one lost request does not end it. */
const LONGEST = 20
const SHORTEST = 1

/** Holds each call once. Returns the seconds until the next time. */
async function holdEach(approvals: readonly Approval[]): Promise<{ held: string[]; next: number }> {
  const held: string[] = []
  let next = LONGEST
  for (const { id } of approvals) {
    try {
      const { expires_at } = await holdApproval(id)
      extendApproval(id, expires_at)
      held.push(id)
      next = Math.min(next, (expires_at - Date.now() / 1000) / 3)
    } catch (error) {
      // It was answered elsewhere, or it expired before the page was back.
      if (hasCode(error, 'already_answered') || hasCode(error, 'expired')) refresh(keys.approvals)
    }
  }
  return { held, next: Math.max(SHORTEST, next) }
}

/**
 * Stops the clock of the pending calls while the page is in view. The server lets a call expire some time after the
 * last hold: a page that is closed or hidden changes nothing.
 */
export function useHolding(approvals: readonly Approval[]): void {
  const ids = approvals.map(({ id }) => id).join(' ')
  // biome-ignore lint/correctness/useExhaustiveDependencies: a hold changes the approvals, but not which there are
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let round = 0
    const look = () => {
      clearTimeout(timer)
      round += 1
      const own = round
      if (document.visibilityState === 'hidden') return setHeld([])
      void holdEach(approvals).then(({ held, next }) => {
        if (own !== round) return
        setHeld(held)
        timer = setTimeout(look, next * 1000)
      })
    }
    look()
    document.addEventListener('visibilitychange', look)
    return () => {
      round = -1
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', look)
      setHeld([])
    }
  }, [ids])
}
