import { chordOf, keysOf, useChords } from './chords'
import { type CommandId, SHORTCUTS } from './shortcuts'

/** A tooltip: words, and the keys that do the same. */
export function useHint(): (words: string, command: CommandId) => string {
  const chosen = useChords()
  return (words, command) => {
    const shortcut = SHORTCUTS.find(shortcut => shortcut.command === command)
    const chord = shortcut && chordOf(shortcut, chosen)
    return chord ? `${words} (${keysOf(chord).join(' ')})` : words
  }
}
