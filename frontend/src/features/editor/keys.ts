import { Prec } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { isShortcut } from '@/app/shortcuts'

/**
 * Keeps the editor from handling keys that are shortcuts of the application; the event propagates to the application.
 * Each key press is checked, because people can change the shortcuts. The keys of a disabled command do
 * nothing, so that no key has two meanings in the editor.
 */
export const keysOfApp = Prec.highest(EditorView.domEventHandlers({ keydown: isShortcut }))
