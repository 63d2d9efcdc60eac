import { Prec } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { shortcutOf } from '@/app/shortcuts'

/** What the application does with some keys, the editor must not do something else with: it asks each time, since people
 *  choose those keys. The event goes on to the application. */
export const keysOfApp = Prec.highest(
  EditorView.domEventHandlers({ keydown: event => shortcutOf(event) !== null }),
)
