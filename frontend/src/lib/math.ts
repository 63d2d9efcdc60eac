/** Formulas as MathML, which browsers render themselves: no fonts, no styles, and no text that is parsed as HTML. */
import katex from 'katex'

/** Maximum characters of a formula; nobody reads a longer one. */
const LONGEST = 4_000

interface Tree {
  toNode: () => Node
}
/** KaTeX's internal tree of elements, which has no public name. */
const { __renderToDomTree: treeOf } = katex as unknown as {
  __renderToDomTree: (tex: string, options: katex.KatexOptions) => Tree
}

/** The formula as an element; null if it is not valid. */
export function formula(tex: string, displayMode: boolean): Node | null {
  if (tex.length > LONGEST) return null
  try {
    return treeOf(tex, {
      displayMode,
      output: 'mathml',
      strict: 'ignore',
      throwOnError: true,
      // A formula can neither link nor load anything, and none grows without bound.
      trust: false,
      maxExpand: 200,
      maxSize: 20,
    }).toNode()
  } catch {
    return null
  }
}
