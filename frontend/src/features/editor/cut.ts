/** A line in the text at which a file that is part of each request is truncated. */
import { type EditorState, Facet, RangeSetBuilder, StateField, type Text } from '@codemirror/state'
import { Decoration, type DecorationSet, EditorView, WidgetType } from '@codemirror/view'

export interface Cut {
  /** Maximum characters (Unicode scalar values) in a request. */
  limit: number
  words: string
}

class CutLine extends WidgetType {
  readonly words: string
  constructor(words: string) {
    super()
    this.words = words
  }
  override eq(other: CutLine): boolean {
    return other.words === this.words
  }
  override toDOM(): HTMLElement {
    const line = document.createElement('div')
    line.className = 'cm-cut'
    line.textContent = this.words
    return line
  }
}

/**
 * The position after `limit` characters of the sent text, which starts at the first letter; null if the text fits.
 */
export function cutAt(doc: Text, limit: number): number | null {
  if (doc.length <= limit) return null
  const text = doc.toString()
  const end = text.trimEnd().length
  let at = Math.max(0, text.search(/[^\s\ufeff]/))
  for (let n = 0; n < limit; n++) {
    if (at >= end) return null
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  }
  return at < end ? at : null
}

const beyond = Decoration.line({ class: 'cm-beyond' })
/** Maximum number of greyed lines; a file may have a million. */
const MOST_LINES = 2000

export const cutMark = Facet.define<Cut, Cut | null>({ combine: cuts => cuts[0] ?? null })

function marked(state: EditorState): DecorationSet {
  const cut = state.facet(cutMark)
  const at = cut && cutAt(state.doc, cut.limit)
  if (cut === null || at === null) return Decoration.none
  const builder = new RangeSetBuilder<Decoration>()
  const line = state.doc.lineAt(at)
  builder.add(line.to, line.to, Decoration.widget({ widget: new CutLine(cut.words), block: true, side: 1 }))
  for (let n = line.number + 1; n <= Math.min(state.doc.lines, line.number + MOST_LINES); n++) {
    const { from } = state.doc.line(n)
    builder.add(from, from, beyond)
  }
  return builder.finish()
}

export const cutLine = StateField.define<DecorationSet>({
  create: marked,
  update: (set, { docChanged, state, startState }) =>
    docChanged || state.facet(cutMark) !== startState.facet(cutMark) ? marked(state) : set,
  provide: field => EditorView.decorations.from(field),
})
