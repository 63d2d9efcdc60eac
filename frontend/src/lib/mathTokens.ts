/** Where formulas stand in Markdown: `$…$` and `\(…\)` in a line, `$$…$$` and `\[…\]` also on lines of their own. */
import type { MarkedOptions, Tokens } from 'marked'

export interface MathToken extends Tokens.Generic {
  type: 'math'
  tex: string
  display: boolean
  /** Of one on lines of its own: its end is not there yet. */
  open: boolean
}

const PAIRS = [
  ['$$', '$$'],
  ['\\[', '\\]'],
] as const

const token = (raw: string, tex: string, display: boolean, open = false): MathToken => ({
  ...{ type: 'math', raw, tex: tex.trim(), display, open },
})

/** A formula that begins a line and ends one. It ends at an empty line at the latest: what stands there can be told as
 * soon as that line is complete, however the text comes in. */
function block(source: string): MathToken | undefined {
  const pair = PAIRS.find(([begin]) => source.startsWith(begin))
  if (!pair) return
  const [begin, end] = pair
  const last = source.slice(begin.length).search(/\n[ \t]*(\n|$)/)
  const stretch = last < 0 ? source : source.slice(0, begin.length + last + 1)
  const at = stretch.indexOf(end, begin.length)
  if (at < 0) return token(stretch, stretch.slice(begin.length), true, true)
  const after = /^[ \t]*(\n|$)/.exec(stretch.slice(at + end.length))
  // Something follows in the same line: it belongs to a paragraph.
  if (!after) return
  return token(stretch.slice(0, at + end.length + after[0].length), stretch.slice(begin.length, at), true)
}

/** A price is no formula: `$5 and $10` has a space before the second sign, `$5-$10` a digit behind it. */
const INLINE = [
  /^\$\$([^$\n]+?)\$\$/,
  /^\$(?![\s$])((?:\\.|[^$\\\n])*?[^\s\\$])\$(?![\d$])/,
  /^\\\(([^\n]+?)\\\)/,
  /^\\\[([^\n]+?)\\\]/,
]

function inline(source: string): MathToken | undefined {
  for (const pattern of INLINE) {
    const found = pattern.exec(source)
    if (found?.[1]?.trim()) return token(found[0], found[1], false)
  }
}

const startOf = (pattern: RegExp) => (source: string) => {
  const at = source.search(pattern)
  return at < 0 ? undefined : at
}

/** Asked of all that follows, for each paragraph: what lies behind the next empty line is no concern of this one. */
const startInParagraph = (pattern: RegExp) => {
  const start = startOf(pattern)
  return (source: string) => {
    const end = source.search(/\n[ \t]*\n/)
    return start(end < 0 ? source : source.slice(0, end))
  }
}

/** As the lexer takes extensions. */
export const mathTokens = {
  block: [block],
  startBlock: [startInParagraph(/(?<=\n)(\$\$|\\\[)/)],
  inline: [inline],
  startInline: [startOf(/\$|\\[([]/)],
  renderers: {},
  childTokens: {},
} as unknown as NonNullable<MarkedOptions['extensions']>
