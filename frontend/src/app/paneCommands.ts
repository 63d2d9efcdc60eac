import { useToasts } from '@/stores/toasts'
import { useUi } from '@/stores/ui'
import { type CommandContext, defineCommands } from './command'

/** Moves the focus to the next or previous visible pane. */
function cyclePane(step: 1 | -1): void {
  const shown = [...document.querySelectorAll<HTMLElement>('[data-pane]')]
  const at = shown.findIndex(pane => pane.contains(document.activeElement))
  shown[(at + step + shown.length) % shown.length]?.focus()
}

function toggleSessions({ width }: CommandContext): void {
  const { set, pane, leftOpen } = useUi.getState()
  if (width === 'narrow') set({ pane: pane === 'left' ? 'chat' : 'left' })
  else set({ leftOpen: !leftOpen })
}

function toggleInspector({ width }: CommandContext): void {
  const { set, pane, sheetOpen, rightOpen } = useUi.getState()
  if (width === 'narrow') set({ pane: pane === 'right' ? 'chat' : 'right' })
  else if (width === 'medium') set({ sheetOpen: !sheetOpen })
  else set({ rightOpen: !rightOpen })
}

export const paneCommands = defineCommands([
  {
    id: 'toggleSessions',
    label: 'toggleSessions',
    keys: { code: 'KeyB', mod: true },
    run: toggleSessions,
  },
  {
    id: 'toggleInspector',
    label: 'toggleInspector',
    keys: { code: 'KeyB', mod: true, alt: true },
    run: toggleInspector,
  },
  { id: 'nextPane', label: 'nextPane', keys: { code: 'F6' }, run: () => cyclePane(1) },
  { id: 'previousPane', label: 'previousPane', keys: { code: 'F6', shift: true }, run: () => cyclePane(-1) },
  {
    id: 'notification',
    label: 'focusNotification',
    keys: { code: 'F8' },
    scope: 'uncovered',
    enabled: () => useToasts.getState().list.length > 0,
    // The newest is the last; its first button is what can be done about it.
    run: () => document.querySelector<HTMLElement>('[data-toast]:last-child button')?.focus(),
  },
])
