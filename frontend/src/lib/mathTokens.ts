/** Finds formulas in Markdown: `$…$` and `\(…\)` inline, `$$…$$` and `\[…\]` also on lines of their own. */
import type { MarkedOptions, Tokens } from 'marked'

export interface MathToken extends Tokens.Generic {
  type: 'math'
  tex: string
  display: boolean
  /** A formula on lines of its own whose end has not arrived yet. */
  open: boolean
}

const PAIRS = [
  ['$$', '$$'],
  ['\\[', '\\]'],
] as const

const token = (raw: string, tex: string, display: boolean, open = false): MathToken => ({
  ...{ type: 'math', raw, tex: tex.trim(), display, open },
})

/**
 * A formula that starts at the beginning of a line and ends at the end of one, at an empty line at the latest: as
 * soon as that line is complete, it is certain what it is, however the text is streamed.
 */
function block(source: string): MathToken | undefined {
  const pair = PAIRS.find(([begin]) => source.startsWith(begin))
  if (!pair) return
  const [begin, end] = pair
  const last = source.slice(begin.length).search(/\n[ \t]*(\n|$)/)
  const stretch = last < 0 ? source : source.slice(0, begin.length + last + 1)
  const at = stretch.indexOf(end, begin.length)
  if (at < 0) return token(stretch, stretch.slice(begin.length), true, true)
  const after = /^[ \t]*(\n|$)/.exec(stretch.slice(at + end.length))
  // Text follows on the same line, so it belongs to a paragraph.
  if (!after) return
  return token(stretch.slice(0, at + end.length + after[0].length), stretch.slice(begin.length, at), true)
}

/** A price is not a formula: `$5 and $10` has a space before the second sign, `$5-$10` a digit after it. */
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

/**
 * The lexer passes all of the remaining text for each paragraph; text after the next empty line is irrelevant here.
 */
const startInParagraph = (pattern: RegExp) => {
  const start = startOf(pattern)
  return (source: string) => {
    const end = source.search(/\n[ \t]*\n/)
    return start(end < 0 ? source : source.slice(0, end))
  }
}

/** In the form in which the lexer takes extensions. */
export const mathTokens = {
  block: [block],
  startBlock: [startInParagraph(/(?<=\n)(\$\$|\\\[)/)],
  inline: [inline],
  startInline: [startOf(/\$|\\[([]/)],
  renderers: {},
  childTokens: {},
} as unknown as NonNullable<MarkedOptions['extensions']>
