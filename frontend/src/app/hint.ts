import { chordOf, keysOf, useChosenChords } from './chords'
import { type CommandId, commandOf } from './commands'

/** Builds tooltips: a label, and the shortcut for the same action. */
export function useHint(): (words: string, id: CommandId) => string {
  const chosen = useChosenChords()
  return (words, id) => {
    const chord = chordOf(commandOf(id), chosen)
    return chord ? `${words} (${keysOf(chord).join(' ')})` : words
  }
}
