/** Keyboard shortcuts that a person chose in place of the defaults. Stored in this browser. */
import { create } from 'zustand'
import { ALT, MOD, SHIFT } from '@/lib/platform'
import { store, stored } from '@/lib/storage'
import type { Chord, Command } from './command'
import type { CommandId } from './commands'

/** Null if the command has no shortcut. */
type Chosen = Partial<Record<CommandId, Chord | null>>

function kept(): Chosen {
  try {
    const chosen: unknown = JSON.parse(stored('keys') ?? '{}')
    return typeof chosen === 'object' && chosen !== null ? (chosen as Chosen) : {}
  } catch {
    return {}
  }
}

export const useChords = create<{ chosen: Chosen }>(() => ({ chosen: kept() }))
useChords.subscribe(({ chosen }) => store('keys', JSON.stringify(chosen)))

/** Hook for components that show shortcuts. */
export const useChosenChords = (): Chosen => useChords(({ chosen }) => chosen)

/** The current shortcut of a command; null if it has none. */
export function chordOf(command: Command<CommandId>, chosen = useChords.getState().chosen): Chord | null {
  const own = chosen[command.id]
  return own === undefined ? command.keys : own
}

const NAMES: Record<string, string> = {
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  Backquote: '`',
  Backslash: '\\',
  Backspace: '⌫',
  BracketLeft: '[',
  BracketRight: ']',
  Comma: ',',
  Equal: '=',
  Escape: 'Esc',
  Minus: '-',
  Period: '.',
  Quote: "'",
  Semicolon: ';',
  Slash: '/',
}

/** The labels of a chord's keys, as printed on a keyboard. */
export const keysOf = ({ code, mod, shift, alt }: Chord): string[] => [
  ...(mod ? [MOD] : []),
  ...(alt ? [ALT] : []),
  ...(shift ? [SHIFT] : []),
  NAMES[code] ?? code.replace(/^(Key|Digit)/, ''),
]
