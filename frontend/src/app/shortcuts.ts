/** Finds the command for the keys that are pressed. */
import { approvalCards } from '@/features/approvals/cards'
import type { Key } from '@/lib/i18n'
import { isMod, isOptionLetter } from '@/lib/platform'
import { chordOf } from './chords'
import type { Chord, Command, CommandContext } from './command'
import { COMMANDS, type CommandId, isEnabled } from './commands'
import { loadEarlier } from './threads'

/** Keys of the text field itself, which the help sheet lists too. */
export const WRITING_KEYS: readonly (Chord & { label: Key })[] = [
  { label: 'sendMessage', code: 'Enter' },
  { label: 'newLine', code: 'Enter', shift: true },
  { label: 'editLast', code: 'ArrowUp' },
]

/** Keys of the list of conversations. */
export const LIST_KEYS: readonly (Chord & { label: Key })[] = [
  { label: 'nextInList', code: 'ArrowDown' },
  { label: 'renameInList', code: 'F2' },
]

const isText = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))

/** Whether a dialog or menu is open, which handles Esc and the other keys first. */
const isCovered = (): boolean =>
  document.querySelector('[role=dialog], [role=alertdialog], [role=menu]') !== null

/** Whether a call waits for an answer. Esc must not stop the run then, because that would deny the call. */
const isAsked = (): boolean => approvalCards.all().length > 0

const isIn = (target: EventTarget | null, what: string): boolean =>
  target instanceof Element && target.closest(what) !== null

const inChat = (target: EventTarget | null): boolean => target === document.body || isIn(target, '#pane-chat')

/** Whether the target is a message, or the pane, from which the arrow keys lead to the last message. */
const onMessage = (target: EventTarget | null): boolean =>
  target instanceof Element && target.matches('[role=log] article, #pane-chat')

function applies({ scope }: Command, target: EventTarget | null): boolean {
  if (scope === 'outside text') return !isText(target) && !isCovered()
  if (scope === 'uncovered') return !isCovered()
  if (scope === 'outside editor') return !isCovered() && !isIn(target, '.cm-editor')
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

/**
 * Whether the keys write a character of the person's layout. Windows reports AltGr as Ctrl and Alt: an Enter while it is
 * still held after a bracket must allow no call.
 */
const writes = (event: KeyboardEvent): boolean =>
  event.getModifierState('AltGraph') || (isText(event.target) && isOptionLetter(event))

/** The commands for a key event, enabled or not. */
function commandsFor(event: KeyboardEvent): Command<CommandId>[] {
  if (event.isComposing || event.keyCode === 229 || writes(event)) return []
  return COMMANDS.filter(command => {
    const chord = chordOf(command)
    return chord !== null && isChord(chord, event) && applies(command, event.target)
  })
}

/** Whether the keys belong to a command, even if it is disabled at this moment. */
export const isShortcut = (event: KeyboardEvent): boolean => commandsFor(event).length > 0

/** The enabled command for a key event, if any: a disabled one leaves the keys to others, and to the browser. */
export const shortcutOf = (event: KeyboardEvent, context: CommandContext): Command<CommandId> | null =>
  commandsFor(event).find(command => isEnabled(command, context)) ?? null

/** Parts in which letters and digits have a meaning: those search a list, or answer an approval. */
const OWN_KEYS = '[role=tree], [role=listbox], [role=slider], [data-approval]'

/**
 * What a key that belongs to no command does outside of fields: a character is written into the composer, which gets
 * the focus before the browser inserts the character; Home and End scroll the conversation.
 */
export function fallback(event: KeyboardEvent, { input, sessionId }: CommandContext): void {
  const { target, key } = event
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
  if (isText(target) || isCovered()) return
  // Space presses the focused button, and scrolls.
  if (key.length === 1 && key !== ' ' && !isIn(target, OWN_KEYS)) input.current?.focus()
  if ((key !== 'Home' && key !== 'End') || event.shiftKey || !inChat(target)) return
  const log = document.querySelector('#pane-chat [role=log]')
  if (!log) return
  event.preventDefault()
  lastScroll += 1
  if (key === 'Home') void toStart(log, lastScroll, sessionId)
  else hold(log, lastScroll, () => log.scrollHeight)
}

/** Frames in which rows may still be measured, which moves the ends. */
const MEASURED_WITHIN = 30

/** Number of the last Home or End; a later one ends the one before. */
let lastScroll = 0

async function toStart(log: Element, number: number, session: string | null): Promise<void> {
  log.scrollTop = 0
  if (session === null) return
  if (await loadEarlier(session, 'all')) hold(log, number, () => 0)
}

/** Keeps the conversation at a place while its rows are measured. */
function hold(log: Element, number: number, place: () => number, frames = MEASURED_WITHIN): void {
  if (number !== lastScroll) return
  log.scrollTop = place()
  if (frames > 0) requestAnimationFrame(() => hold(log, number, place, frames - 1))
}
