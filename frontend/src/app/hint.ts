import { useT } from '@/lib/i18n'
import { chordOf, keysOf, useChosenChords } from './chords'
import { type CommandId, commandOf } from './commands'

/** The labels of the keys of a command's shortcut; empty if it has none. */
export function useKeys(id: CommandId): string[] {
  const chord = chordOf(commandOf(id), useChosenChords())
  return chord ? keysOf(chord) : []
}

export interface Hint {
  label: string
  /** The tooltip: the label and the shortcut. */
  title: string
}

/** The label and tooltip of a control that does what a command does; `words` is its label if it has its own. */
export function useHint(id: CommandId, words?: string): Hint {
  const t = useT()
  const keys = useKeys(id)
  const { label: key, name } = commandOf(id)
  const label = words ?? t(key, name && { name: t(name) })
  return { label, title: keys.length > 0 ? `${label} (${keys.join(' ')})` : label }
}
