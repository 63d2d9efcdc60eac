import type { FileRef } from '@/lib/roots'
import { useUi } from '@/stores/ui'

/** Maximum frames to wait until the editor and the file are loaded, and the dialog that opened it is gone. */
const PATIENCE = 180

const FIELD = 'input, textarea, select, [contenteditable=true]'

/**
 * Moves the focus to the text of a file that was just opened, unless a person writes elsewhere by then. A touch screen
 * would show its keyboard.
 */
export function focusText(file: FileRef, frames = PATIENCE): void {
  if (frames === 0 || useUi.getState().file !== file || matchMedia('(pointer: coarse)').matches) return
  const text = document.querySelector<HTMLElement>('#pane-right .cm-content')
  const covers = [...document.querySelectorAll('[role=dialog]')].filter(dialog => !dialog.contains(text))
  if (covers.length === 0) {
    if (document.activeElement?.matches(FIELD)) return
    if (text?.getAttribute('aria-label')?.includes(file.shown)) {
      text.focus()
      return
    }
  }
  requestAnimationFrame(() => focusText(file, frames - 1))
}
