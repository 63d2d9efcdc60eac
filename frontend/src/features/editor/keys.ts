import { Prec } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { shortcutOf } from '@/app/shortcuts'

/**
 * Keeps the editor from handling keys that are shortcuts of the application; the event propagates to the application.
 * Each key press is checked, because people can change the shortcuts.
 */
export const keysOfApp = Prec.highest(
  EditorView.domEventHandlers({ keydown: event => shortcutOf(event) !== null }),
)
