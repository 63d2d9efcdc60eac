import { useEffect, useRef } from 'react'
import { type CommandId, shortcutOf } from './shortcuts'

export type Commands = Record<CommandId, () => void>

export function useShortcuts(commands: Commands): void {
  const latest = useRef(commands)
  useEffect(() => {
    latest.current = commands
  })
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const shortcut = shortcutOf(event)
      if (!shortcut) return
      event.preventDefault()
      latest.current[shortcut.command]()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
}
