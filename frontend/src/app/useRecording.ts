import { useEffect, useRef, useState } from 'react'
import { useT } from '@/lib/i18n'
import { ALT, isMod, MOD } from '@/lib/platform'
import { chordOf, keysOf } from './chords'
import type { Chord } from './command'
import { COMMANDS, type CommandId, commandOf } from './commands'
import { isChord } from './shortcuts'

const MODIFIER = /^(Control|Meta|Alt|Shift|OS)/

/**
 * While `command` is set, records the next keys as its shortcut and suppresses their usual effect; Esc alone cancels.
 * Returns the reason if keys cannot be used.
 */
export function useRecording(
  command: CommandId | null,
  onDone: (chord: Chord | null) => void,
): string | null {
  const t = useT()
  const [problem, setProblem] = useState<string | null>(null)
  const done = useRef(onDone)
  useEffect(() => {
    done.current = onDone
  })
  useEffect(() => {
    setProblem(null)
    if (command === null) return
    const { scope } = commandOf(command)
    const onKey = (event: KeyboardEvent) => {
      event.preventDefault()
      event.stopImmediatePropagation()
      if (MODIFIER.test(event.code) || event.isComposing) return
      const { code, shiftKey, altKey } = event
      const mod = isMod(event)
      if (code === 'Escape' && !mod && !shiftKey && !altKey) return done.current(null)
      const chord: Chord = {
        code,
        ...(mod && { mod: true as const }),
        ...(shiftKey && { shift: true as const }),
        ...(altKey && { alt: true as const }),
      }
      const harmless = mod || altKey || /^F\d/.test(code) || scope === 'outside text' || scope === 'message'
      if (!harmless) return setProblem(t('keysBare', { mod: MOD, alt: ALT }))
      const taken = COMMANDS.find(other => {
        const own = chordOf(other)
        return (
          other.id !== command &&
          own &&
          isChord(own, event) &&
          (other.scope === scope || !other.scope || !scope)
        )
      })
      if (!taken) return done.current(chord)
      setProblem(t('keysTaken', { keys: keysOf(chord).join(' '), name: t(taken.label) }))
    }
    window.addEventListener('keydown', onKey, true)
    return () => window.removeEventListener('keydown', onKey, true)
  }, [command, t])
  return problem
}
