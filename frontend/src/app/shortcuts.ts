/** Finds the command for the keys that are pressed. */
import { approvalCards } from '@/features/approvals/cards'
import type { Key } from '@/lib/i18n'
import { isMod } from '@/lib/platform'
import { chordOf } from './chords'
import type { Chord, Command } from './command'
import { COMMANDS, type CommandId } from './commands'

/** Keys of the text field itself, which the help sheet lists too. */
export const WRITING_KEYS: readonly (Chord & { label: Key })[] = [
  { label: 'sendMessage', code: 'Enter' },
  { label: 'newLine', code: 'Enter', shift: true },
  { label: 'editLast', code: 'ArrowUp' },
]

const isText = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))

/** Whether a dialog or menu is open, which handles Esc and the other keys first. */
const isCovered = (): boolean =>
  document.querySelector('[role=dialog], [role=alertdialog], [role=menu]') !== null

/** Whether a call waits for an answer. Esc must not stop the run then, because that would deny the call. */
const isAsked = (): boolean => approvalCards.all().length > 0

const inChat = (target: EventTarget | null): boolean =>
  target === document.body || (target instanceof Element && target.closest('#pane-chat') !== null)

/** Whether the target is a message, or the pane, from which the arrow keys lead to the last message. */
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

/** Whether an event has exactly the keys of a chord. */
export const isChord = (chord: Chord, event: KeyboardEvent): boolean =>
  chord.code === event.code &&
  Boolean(chord.mod) === isMod(event) &&
  Boolean(chord.mod) === (event.metaKey || event.ctrlKey) &&
  Boolean(chord.shift) === event.shiftKey &&
  Boolean(chord.alt) === event.altKey

/** The command for a key event, if any. */
export function shortcutOf(event: KeyboardEvent): Command<CommandId> | null {
  if (event.isComposing || event.keyCode === 229) return null
  const fits = (command: Command<CommandId>): boolean => {
    const chord = chordOf(command)
    return chord !== null && isChord(chord, event) && applies(command, event.target)
  }
  return COMMANDS.find(fits) ?? null
}
