/** Formulas as MathML, which browsers set by themselves: no fonts, no styles, and no text that is read as HTML. */
import katex from 'katex'

/** Longer than this is no formula that somebody reads. */
const LONGEST = 4_000

interface Tree {
  toNode: () => Node
}
/** KaTeX's own tree of elements, for which it has no public name. */
const { __renderToDomTree: treeOf } = katex as unknown as {
  __renderToDomTree: (tex: string, options: katex.KatexOptions) => Tree
}

/** The formula as an element; null where it is none. */
export function formula(tex: string, displayMode: boolean): Node | null {
  if (tex.length > LONGEST) return null
  try {
    return treeOf(tex, {
      displayMode,
      output: 'mathml',
      strict: 'ignore',
      throwOnError: true,
      // Nothing in a formula leads anywhere or loads anything, and none grows without bound.
      trust: false,
      maxExpand: 200,
      maxSize: 20,
    }).toNode()
  } catch {
    return null
  }
}
