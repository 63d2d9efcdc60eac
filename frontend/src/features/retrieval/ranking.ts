/** How the score of a passage is computed: see `rerank` of the playground for the whole formula. */
import type { How, Weights } from '@/api/types'

/**
 * Whether the passage is in another script than the question. Words cannot match then, so the meaning weighs more.
 */
export const isForeign = (how: How, weights: Weights): boolean =>
  how.vector_weight === weights.other_script && weights.other_script !== weights.vector

/** The sum that gives the score, as it is displayed: `0.20 × 0.82 + 0.80 × 1.00 = 0.96`. */
export interface Sum {
  vector: [weight: number, share: number] | null
  late: [weight: number, share: number] | null
  lexical: [weight: number, share: number]
}

export function sumOf({ lexical, vector, late, vector_weight: weight = 0 }: How): Sum {
  const words = lexical?.share ?? 0
  const pieces: Sum['late'] = late && late.weight > 0 ? [late.weight, late.share] : null
  const rest = 1 - (pieces?.[0] ?? 0)
  if (!vector) return { vector: null, late: pieces, lexical: [rest, words] }
  return { vector: [weight, vector.share], late: pieces, lexical: [rest - weight, words] }
}
