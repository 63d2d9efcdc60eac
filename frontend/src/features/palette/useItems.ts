import { useFoundNames } from '@/api/projectQueries'
import { useFoundFiles, useSessions } from '@/api/queries'
import { chordOf, keysOf, useChosenChords } from '@/app/chords'
import { useCommandContext } from '@/app/commandContext'
import { runCommand } from '@/app/commands'
import { useEnabledCommands } from '@/app/useEnabled'
import { focusText } from '@/features/editor/focusText'
import { useShownProject } from '@/features/inspector/useShownProject'
import { useT } from '@/lib/i18n'
import { matches } from '@/lib/match'
import { FileRef, projectRoot } from '@/lib/roots'
import { openFile, showMiddle } from '@/stores/ui'
import type { Item } from './item'

/** Maximum entries of each group for a query, and without one. */
const MOST = 12
const FIRST = 5

export function useItems(query: string): Item[] {
  const t = useT()
  const context = useCommandContext()
  const chosen = useChosenChords()
  const sessions = useSessions().data ?? []
  const files = useFoundFiles({ words: query.trim(), limit: MOST }).data?.files ?? []
  const project = useShownProject()
  const names = useFoundNames(project ?? '', query.trim(), MOST).data?.items ?? []
  const commands = useEnabledCommands(context)
  const open = (file: FileRef) => {
    openFile(file)
    focusText(file)
  }
  const all: Item[] = [
    // A command on the focused message has no message here, because the palette has the focus.
    ...commands
      .filter(command => command.id !== 'palette' && command.scope !== 'message')
      .map(command => {
        const chord = chordOf(command, chosen)
        return {
          id: command.id,
          group: 'commands' as const,
          text: t(command.label, command.name && { name: t(command.name) }),
          keys: chord ? keysOf(chord) : [],
          run: () => runCommand(command.id, context),
        }
      }),
    ...sessions.map(s => ({
      id: s.id,
      group: 'sessions' as const,
      text: s.title || s.begins || t('untitled'),
      keys: [],
      run: () => {
        context.navigate(`/s/${s.id}`)
        showMiddle()
        requestAnimationFrame(() => document.getElementById('pane-chat')?.focus())
      },
    })),
    ...files.map(f => ({
      id: f.path,
      group: 'files' as const,
      text: f.path,
      keys: [],
      run: () => {
        const file = FileRef.parse(f.path)
        if (file) open(file)
      },
    })),
  ]
  const found = all.filter(item => matches(item.text, query))
  // The server has found them by more than their words, the best first.
  if (project !== null && query.trim() !== '')
    found.push(
      ...names.map(({ path }) => {
        const file = FileRef.of(projectRoot(project), path)
        return { id: `${file}`, group: 'files' as const, text: path, keys: [], run: () => open(file) }
      }),
    )
  return (['commands', 'sessions', 'files'] as const).flatMap(group =>
    found.filter(item => item.group === group).slice(0, query.trim() === '' ? FIRST : MOST),
  )
}
