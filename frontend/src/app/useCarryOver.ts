import { useEffect, useRef } from 'react'
import type { Width } from '@/lib/useMedia'
import { useUi } from '@/stores/ui'

/**
 * Carries the inspector over when the width changes: what fills a narrow screen is a sheet on a wider one, and the other
 * way round. Coming from three panes, the chat has the room: nothing covers it unasked.
 */
export function useCarryOver(width: Width): void {
  const last = useRef(width)
  useEffect(() => {
    const before = last.current
    last.current = width
    if (before === width) return
    const { set, pane, sheetOpen } = useUi.getState()
    const shown = before === 'narrow' ? pane === 'right' : before === 'medium' && sheetOpen
    set({
      sheetOpen: shown && width === 'medium',
      ...(width === 'narrow' ? { pane: shown ? 'right' : 'chat' } : shown ? { rightOpen: true } : {}),
    })
  }, [width])
}
