import { useEffect, useRef } from 'react'
import { isSignedOut } from '@/api/signedOut'
import type { CommandContext } from './command'
import { fallback, shortcutOf } from './shortcuts'

/** Runs the commands of pressed shortcuts. */
export function useShortcuts(context: CommandContext): void {
  const latest = useRef(context)
  useEffect(() => {
    latest.current = context
  })
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      // The sign-in covers the page: its keys belong to the browser.
      if (isSignedOut()) return
      const command = shortcutOf(event, latest.current)
      if (!command) return fallback(event, latest.current)
      event.preventDefault()
      command.run(latest.current)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
}
