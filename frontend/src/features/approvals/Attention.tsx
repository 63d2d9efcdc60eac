import { useEffect, useRef } from 'react'
import { useLocation } from 'wouter'
import { useApprovals } from '@/api/queries'
import type { Approval } from '@/api/types'
import { notify } from './notify'
import { useHolding } from './useHolding'

const NONE: Approval[] = []

/** Gives pending calls the time they need while the page is in view, and tells about new ones while it is not. */
export default function Attention() {
  const approvals = useApprovals().data ?? NONE
  useHolding(approvals)
  useNotifications(approvals)
  return null
}

function useNotifications(approvals: readonly Approval[]): void {
  const [, navigate] = useLocation()
  const told = useRef(new Map<string, Notification | null>())
  useEffect(() => {
    const waiting = new Set(approvals.map(({ id }) => id))
    for (const [id, shown] of told.current) {
      if (waiting.has(id)) continue
      shown?.close()
      told.current.delete(id)
    }
    for (const approval of approvals) {
      if (told.current.has(approval.id)) continue
      const hidden = document.visibilityState === 'hidden'
      const open = () => navigate(`/s/${approval.session_id}`)
      told.current.set(approval.id, hidden ? notify(approval, open) : null)
    }
  }, [approvals, navigate])
}
