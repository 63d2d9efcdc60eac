import type { How } from '@/api/types'

/** Half way between the worst and the best candidate of the search. */
const HALF = 0.5

/**
 * Whether a passage has little to do with its question: it shares no word with it, and lies nearer to the worst than to
 * the best candidate in meaning. Shares and not cosines are compared, because the range of a cosine depends on the
 * model. A passage whose match by pieces is good, or that an older server does not explain, is not weak.
 */
export function isWeak(how: How | null | undefined): boolean {
  if (!how || (how.lexical?.terms.length ?? 0) > 0) return false
  if (how.late && how.late.share >= HALF) return false
  return (how.vector?.share ?? 0) < HALF
}
