/** Lines of a passage: scrolled into view, and coloured until `unmark`. */
import {
  EditorSelection,
  type EditorState,
  StateEffect,
  StateField,
  type TransactionSpec,
} from '@codemirror/state'
import { Decoration, type DecorationSet, EditorView } from '@codemirror/view'
import type { Lines } from '@/lib/citation'

/** Milliseconds; equals the duration of the fade in `editor.css`. */
export const MARKED_MS = 3500

const markLines = StateEffect.define<DecorationSet>()
export const unmark = markLines.of(Decoration.none)
const line = Decoration.line({ class: 'cm-passage' })

export const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (set, transaction) =>
    transaction.effects.reduce(
      (now, effect) => (effect.is(markLines) ? effect.value : now),
      set.map(transaction.changes),
    ),
  provide: field => EditorView.decorations.from(field),
})

/** Selects and marks the lines. If the file has become shorter, its end is shown. */
export function showLines({ doc }: EditorState, [first, last]: Lines): TransactionSpec {
  const at = (n: number) => doc.line(Math.min(Math.max(1, n), doc.lines))
  const starts: number[] = []
  for (let n = at(first).number; n <= at(last).number; n++) starts.push(at(n).from)
  // Backwards, so that the start of a passage taller than the screen is visible.
  const range = EditorSelection.range(at(last).to, at(first).from)
  return {
    selection: { anchor: at(first).from },
    effects: [
      EditorView.scrollIntoView(range, { y: 'center' }),
      markLines.of(Decoration.set(starts.map(from => line.range(from)))),
    ],
  }
}
