import { useFiles, useSessions } from '@/api/queries'
import { chordOf, keysOf, useChords } from '@/app/chords'
import { SHORTCUTS } from '@/app/shortcuts'
import type { Commands } from '@/app/useShortcuts'
import { useT } from '@/lib/i18n'
import { openFile } from '@/stores/ui'
import type { Item } from './item'
import { matches } from './match'
import { useMore } from './useMore'

/** More of one kind than this is a list, not an answer; before anything is asked for, a look at each kind. */
const MOST = 12
const FIRST = 5

export function useItems(query: string, commands: Commands, onOpenSession: (id: string) => void): Item[] {
  const t = useT()
  const chosen = useChords()
  const sessions = useSessions().data ?? []
  const memory = useFiles('memory').data ?? []
  const workspace = useFiles('workspace').data ?? []
  const skills = useFiles('skills').data ?? []
  const knowledge = useFiles('knowledge').data ?? []
  const all: Item[] = [
    // What belongs to the message with the focus has nothing to work on here.
    ...SHORTCUTS.filter(s => s.command !== 'palette' && s.when !== 'message').map(s => {
      const chord = chordOf(s, chosen)
      return {
        id: s.command,
        group: 'commands' as const,
        text: t(s.label),
        keys: chord ? keysOf(chord) : [],
        run: commands[s.command],
      }
    }),
    ...useMore(),
    ...sessions.map(s => ({
      id: s.id,
      group: 'sessions' as const,
      text: s.title || s.begins || t('untitled'),
      keys: [],
      run: () => onOpenSession(s.id),
    })),
    ...[...memory, ...skills, ...workspace, ...knowledge].map(f => ({
      id: f.path,
      group: 'files' as const,
      text: f.path,
      keys: [],
      run: () => openFile(f.path),
    })),
  ]
  const found = all.filter(item => matches(item.text, query))
  return (['commands', 'sessions', 'files'] as const).flatMap(group =>
    found.filter(item => item.group === group).slice(0, query.trim() === '' ? FIRST : MOST),
  )
}
