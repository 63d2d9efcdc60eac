/** Which keys a person has chosen for the commands, in place of those of the list. Kept in this browser. */
import { create } from 'zustand'
import { ALT, MOD, SHIFT } from '@/lib/platform'
import { store, stored } from '@/lib/storage'
import type { Chord, Command } from './command'
import type { CommandId } from './commands'

/** Null: the command has no keys. */
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

/** For a component that shows keys. */
export const useChosenChords = (): Chosen => useChords(({ chosen }) => chosen)

/** The keys of a command as they are now; null where it has none. */
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

/** What is printed on the keys of a chord. */
export const keysOf = ({ code, mod, shift, alt }: Chord): string[] => [
  ...(mod ? [MOD] : []),
  ...(alt ? [ALT] : []),
  ...(shift ? [SHIFT] : []),
  NAMES[code] ?? code.replace(/^(Key|Digit)/, ''),
]
