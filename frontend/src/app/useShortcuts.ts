import { useCallback, useEffect, useRef } from 'react'
import type { CommandContext } from './command'
import { type CommandId, runCommand } from './commands'
import { shortcutOf } from './shortcuts'

/**
 * Runs the commands of pressed shortcuts. The returned function runs a command by its id and has a stable identity.
 */
export function useShortcuts(context: CommandContext): (id: CommandId) => void {
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
  return useCallback(id => runCommand(id, latest.current), [])
}
