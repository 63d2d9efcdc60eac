/** Every key of the application, in one list: it feeds the handler, the help sheet, the tooltips and the palette. */
import type { Key } from '@/lib/i18n'
import { isMod } from '@/lib/platform'
import { chordOf } from './chords'

export type CommandId =
  | 'palette'
  | 'openFile'
  | 'newChat'
  | 'toggleSessions'
  | 'toggleInspector'
  | 'nextPane'
  | 'previousPane'
  | 'previousSession'
  | 'nextSession'
  | 'stopWork'
  | 'saveFile'
  | 'diffFile'
  | 'wrapLines'
  | 'findInChat'
  | 'copyLastCode'
  | 'foldChains'
  | 'focusComposer'
  | 'shortcuts'
  | 'settings'
  | 'allowOldest'
  | 'denyOldest'
  | 'previousMessage'
  | 'nextMessage'
  | 'copyMessage'
  | 'editMessage'
  | 'regenerate'
  | 'branchHere'

/** Keys that are pressed together. */
export interface Chord {
  /** Physical key: what is printed on it, and what Shift makes of it, differ between layouts. */
  code: string
  mod?: true
  shift?: true
  alt?: true
}

export interface Shortcut extends Chord {
  command: CommandId
  label: Key
  /** `outside text`: a single letter must not fire while somebody writes. `chat`: only with the focus in the
   * chat. `run`: there too, and not while a call waits for an answer. `message`: only with the focus on a message.
   * `uncovered`: not while a dialog or a menu is open. */
  when?: 'outside text' | 'uncovered' | 'chat' | 'run' | 'message'
}

const mod = true
const shift = true
const alt = true

/** As they are until somebody chooses others. */
export const SHORTCUTS: readonly Shortcut[] = [
  { command: 'palette', label: 'palette', code: 'KeyK', mod },
  { command: 'openFile', label: 'openFileByName', code: 'KeyP', mod },
  { command: 'newChat', label: 'newChat', code: 'KeyO', mod, shift },
  { command: 'focusComposer', label: 'focusComposer', code: 'Slash', when: 'outside text' },
  { command: 'stopWork', label: 'stopWork', code: 'Escape', when: 'run' },
  { command: 'findInChat', label: 'findInChat', code: 'KeyF', mod, when: 'chat' },
  { command: 'copyLastCode', label: 'copyLastCode', code: 'Semicolon', mod, shift },
  { command: 'foldChains', label: 'foldChains', code: 'KeyC', alt },
  { command: 'saveFile', label: 'saveFile', code: 'KeyS', mod },
  { command: 'diffFile', label: 'compareBeforeSave', code: 'KeyD', alt },
  { command: 'wrapLines', label: 'wrapLines', code: 'KeyZ', alt },
  { command: 'previousSession', label: 'previousSession', code: 'ArrowUp', alt },
  { command: 'nextSession', label: 'nextSession', code: 'ArrowDown', alt },
  { command: 'toggleSessions', label: 'toggleSessions', code: 'KeyB', mod },
  { command: 'toggleInspector', label: 'toggleInspector', code: 'KeyB', mod, alt },
  { command: 'nextPane', label: 'nextPane', code: 'F6' },
  { command: 'previousPane', label: 'previousPane', code: 'F6', shift },
  { command: 'allowOldest', label: 'allowOldest', code: 'Enter', mod, alt, when: 'uncovered' },
  { command: 'denyOldest', label: 'denyOldest', code: 'Backspace', mod, alt, when: 'uncovered' },
  { command: 'settings', label: 'settings', code: 'Comma', mod },
  { command: 'shortcuts', label: 'shortcuts', code: 'Slash', mod },
  { command: 'previousMessage', label: 'previousMessage', code: 'ArrowUp', when: 'message' },
  { command: 'nextMessage', label: 'nextMessage', code: 'ArrowDown', when: 'message' },
  { command: 'copyMessage', label: 'copyMessage', code: 'KeyC', when: 'message' },
  { command: 'editMessage', label: 'editMessage', code: 'KeyE', when: 'message' },
  { command: 'regenerate', label: 'regenerate', code: 'KeyR', when: 'message' },
  { command: 'branchHere', label: 'branchHere', code: 'KeyB', when: 'message' },
]

/** Keys of the text field itself; the help sheet names them too. */
export const WRITING_KEYS: readonly (Chord & { label: Key })[] = [
  { label: 'sendMessage', code: 'Enter' },
  { label: 'newLine', code: 'Enter', shift },
  { label: 'editLast', code: 'ArrowUp' },
]

const isText = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))

/** Something modal is open and has the first claim on Esc and on the keys. */
const isCovered = (): boolean =>
  document.querySelector('[role=dialog], [role=alertdialog], [role=menu]') !== null

/** Esc stops a run, and that would deny what waits for an answer: then it does nothing. */
const isAsked = (): boolean => document.querySelector('[data-approval]') !== null

const inChat = (target: EventTarget | null): boolean =>
  target === document.body || (target instanceof Element && target.closest('#pane-chat') !== null)

/** A message, or the pane, from which the arrows lead to the last one. */
const onMessage = (target: EventTarget | null): boolean =>
  target instanceof Element && target.matches('[role=log] article, #pane-chat')

function applies({ when }: Shortcut, target: EventTarget | null): boolean {
  if (when === 'outside text') return !isText(target) && !isCovered()
  if (when === 'uncovered') return !isCovered()
  if (when === 'chat') return inChat(target) && !isCovered()
  if (when === 'run') return inChat(target) && !isCovered() && !isAsked()
  if (when === 'message') return onMessage(target) && !isCovered()
  return true
}

/** Whether the keys of an event are those of a chord, no more and no fewer. */
export const isChord = (chord: Chord, event: KeyboardEvent): boolean =>
  chord.code === event.code &&
  Boolean(chord.mod) === isMod(event) &&
  Boolean(chord.mod) === (event.metaKey || event.ctrlKey) &&
  Boolean(chord.shift) === event.shiftKey &&
  Boolean(chord.alt) === event.altKey

/** The shortcut that a key event stands for, if any. */
export function shortcutOf(event: KeyboardEvent): Shortcut | null {
  if (event.isComposing || event.keyCode === 229) return null
  const fits = (shortcut: Shortcut): boolean => {
    const chord = chordOf(shortcut)
    return chord !== null && isChord(chord, event) && applies(shortcut, event.target)
  }
  return SHORTCUTS.find(fits) ?? null
}
