import { useEffect, useRef } from 'react'
import type { CommandContext } from './command'
import { shortcutOf } from './shortcuts'

/** Runs the commands of pressed shortcuts. */
export function useShortcuts(context: CommandContext): void {
  const latest = useRef(context)
  useEffect(() => {
    latest.current = context
  })
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const command = shortcutOf(event, latest.current)
      if (!command) return
      event.preventDefault()
      command.run(latest.current)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
}
