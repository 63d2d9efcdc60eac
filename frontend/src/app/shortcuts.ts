/** Finds the command that keys stand for. */
import { approvalCards } from '@/features/approvals/cards'
import type { Key } from '@/lib/i18n'
import { isMod } from '@/lib/platform'
import { chordOf } from './chords'
import type { Chord, Command } from './command'
import { COMMANDS, type CommandId } from './commands'

/** Keys of the text field itself; the help sheet names them too. */
export const WRITING_KEYS: readonly (Chord & { label: Key })[] = [
  { label: 'sendMessage', code: 'Enter' },
  { label: 'newLine', code: 'Enter', shift: true },
  { label: 'editLast', code: 'ArrowUp' },
]

const isText = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))

/** Something modal is open and has the first claim on Esc and on the keys. */
const isCovered = (): boolean =>
  document.querySelector('[role=dialog], [role=alertdialog], [role=menu]') !== null

/** Esc stops a run, and that would deny what waits for an answer: then it does nothing. */
const isAsked = (): boolean => approvalCards.all().length > 0

const inChat = (target: EventTarget | null): boolean =>
  target === document.body || (target instanceof Element && target.closest('#pane-chat') !== null)

/** A message, or the pane, from which the arrows lead to the last one. */
const onMessage = (target: EventTarget | null): boolean =>
  target instanceof Element && target.matches('[role=log] article, #pane-chat')

function applies({ scope }: Command, target: EventTarget | null): boolean {
  if (scope === 'outside text') return !isText(target) && !isCovered()
  if (scope === 'uncovered') return !isCovered()
  if (scope === 'chat') return inChat(target) && !isCovered()
  if (scope === 'run') return inChat(target) && !isCovered() && !isAsked()
  if (scope === 'message') return onMessage(target) && !isCovered()
  return true
}

/** Whether the keys of an event are those of a chord, no more and no fewer. */
export const isChord = (chord: Chord, event: KeyboardEvent): boolean =>
  chord.code === event.code &&
  Boolean(chord.mod) === isMod(event) &&
  Boolean(chord.mod) === (event.metaKey || event.ctrlKey) &&
  Boolean(chord.shift) === event.shiftKey &&
  Boolean(chord.alt) === event.altKey

/** The command that a key event stands for, if any. */
export function shortcutOf(event: KeyboardEvent): Command<CommandId> | null {
  if (event.isComposing || event.keyCode === 229) return null
  const fits = (command: Command<CommandId>): boolean => {
    const chord = chordOf(command)
    return chord !== null && isChord(chord, event) && applies(command, event.target)
  }
  return COMMANDS.find(fits) ?? null
}
