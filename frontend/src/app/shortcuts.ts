/** Every key of the application, in one list: it feeds the handler, the help sheet and the palette. */
import type { Key } from '@/lib/i18n'
import { ALT, isMod, MOD, SHIFT } from '@/lib/platform'

export type CommandId =
  | 'palette'
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
  | 'findInChat'
  | 'focusComposer'
  | 'shortcuts'
  | 'settings'
  | 'allowOldest'
  | 'denyOldest'

export interface Shortcut {
  command: CommandId
  label: Key
  /** Physical key: what is printed on it, and what Shift makes of it, differ between layouts. */
  code: string
  mod?: true
  shift?: true
  alt?: true
  shown: readonly string[]
  /** `outside text`: a single letter must not fire while somebody writes. `chat`: only with the focus in the
   * chat. `run`: there too, and not while a call waits for an answer. */
  when?: 'outside text' | 'chat' | 'run'
}

export const SHORTCUTS: readonly Shortcut[] = [
  { command: 'palette', label: 'palette', code: 'KeyK', mod: true, shown: [MOD, 'K'] },
  { command: 'newChat', label: 'newChat', code: 'KeyO', mod: true, shift: true, shown: [MOD, SHIFT, 'O'] },
  { command: 'focusComposer', label: 'focusComposer', code: 'Slash', shown: ['/'], when: 'outside text' },
  { command: 'stopWork', label: 'stopWork', code: 'Escape', shown: ['Esc'], when: 'run' },
  { command: 'findInChat', label: 'findInChat', code: 'KeyF', mod: true, shown: [MOD, 'F'], when: 'chat' },
  { command: 'saveFile', label: 'saveFile', code: 'KeyS', mod: true, shown: [MOD, 'S'] },
  { command: 'diffFile', label: 'compareBeforeSave', code: 'KeyD', alt: true, shown: [ALT, 'D'] },
  { command: 'previousSession', label: 'previousSession', code: 'ArrowUp', alt: true, shown: [ALT, '↑'] },
  { command: 'nextSession', label: 'nextSession', code: 'ArrowDown', alt: true, shown: [ALT, '↓'] },
  { command: 'toggleSessions', label: 'toggleSessions', code: 'KeyB', mod: true, shown: [MOD, 'B'] },
  {
    command: 'toggleInspector',
    label: 'toggleInspector',
    code: 'KeyB',
    mod: true,
    alt: true,
    shown: [MOD, ALT, 'B'],
  },
  { command: 'nextPane', label: 'nextPane', code: 'F6', shown: ['F6'] },
  { command: 'previousPane', label: 'previousPane', code: 'F6', shift: true, shown: [SHIFT, 'F6'] },
  {
    command: 'allowOldest',
    label: 'allowOldest',
    code: 'Enter',
    mod: true,
    alt: true,
    shown: [MOD, ALT, 'Enter'],
  },
  {
    command: 'denyOldest',
    label: 'denyOldest',
    code: 'Backspace',
    mod: true,
    alt: true,
    shown: [MOD, ALT, '⌫'],
  },
  { command: 'settings', label: 'settings', code: 'Comma', mod: true, shown: [MOD, ','] },
  { command: 'shortcuts', label: 'shortcuts', code: 'Slash', mod: true, shown: [MOD, '/'] },
]

/** Keys of the text field itself; the help sheet names them too. */
export const WRITING_KEYS: readonly { label: Key; shown: readonly string[] }[] = [
  { label: 'sendMessage', shown: ['Enter'] },
  { label: 'newLine', shown: [SHIFT, 'Enter'] },
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

function applies({ when }: Shortcut, target: EventTarget | null): boolean {
  if (when === 'outside text') return !isText(target) && !isCovered()
  if (when === 'chat') return inChat(target) && !isCovered()
  if (when === 'run') return inChat(target) && !isCovered() && !isAsked()
  return true
}

/** The shortcut that a key event stands for, if any. */
export function shortcutOf(event: KeyboardEvent): Shortcut | null {
  if (event.isComposing || event.keyCode === 229) return null
  const mod = isMod(event)
  const other = event.metaKey || event.ctrlKey
  const found = SHORTCUTS.find(
    s =>
      s.code === event.code &&
      Boolean(s.mod) === mod &&
      Boolean(s.mod) === other &&
      Boolean(s.shift) === event.shiftKey &&
      Boolean(s.alt) === event.altKey,
  )
  return found && applies(found, event.target) ? found : null
}
