import type { Tokens } from 'marked'
import type { Block } from '@/lib/incremental'

/** The page's title is h1 and the conversation's h2; the headings of an answer start below them. */
const ABOVE = 2

/**
 * The outline level of each block that is a heading, 0 for the others. Models skip levels, but a screen reader's
 * outline must not, so a heading is at most one level deeper than the one before it.
 */
export function headingLevels(blocks: readonly Block[]): number[] {
  let before = ABOVE
  return blocks.map(({ tokens }) => {
    const heading = tokens[0]
    if (heading?.type !== 'heading') return 0
    before = Math.min((heading as Tokens.Heading).depth + ABOVE, before + 1, 6)
    return before
  })
}
