/**
 * The order of passages, made from what each side says of them, so that a page can weigh the sides anew without asking:
 * `fused = w · meaning + (1 − w) · words`. A side that knows nothing of a passage adds nothing, but a passage without a
 * vector must not lose for that: its words count for both.
 */
import type { Hit, How, NearMissReason, Search, Weights } from '@/api/retrieval'

export interface Candidate {
  /** The same passage keeps its key, however it is ranked. */
  key: string
  hit: Hit
  /** Place and points under the weight that is asked for. */
  rank: number
  fused: number
  /** Place under the server's own weight. */
  before: number
  /** Among the first k, and so handed on. */
  chosen: boolean
  /** Why it is not, and how far it is behind the last that is. */
  miss: { reason: NearMissReason; behind: number } | null
}

export function fusedOf(how: How, vectorWeight: number): number {
  const words = how.lexical?.share ?? 0
  const meaning = how.vector ? how.vector.share : words
  return vectorWeight * meaning + (1 - vectorWeight) * words
}

/** The sum behind the points, as it is written down: `0.35 × 0.82 + 0.65 × 1.00 = 0.94`. */
export interface Sum {
  vector: [weight: number, share: number] | null
  lexical: [weight: number, share: number]
  fused: number
}

export function sumOf(how: How, weights: Pick<Weights, 'lexical' | 'vector'>): Sum {
  const words = how.lexical?.share ?? 0
  const fused = how.fused
  if (!how.vector) return { vector: null, lexical: [weights.vector + weights.lexical, words], fused }
  return { vector: [weights.vector, how.vector.share], lexical: [weights.lexical, words], fused }
}

interface Scored {
  key: string
  hit: Hit
  before: number
  fused: number
  overlaps: boolean
}

const overlap = (a: Hit, b: Hit): boolean =>
  a.source === b.source && !!a.lines && !!b.lines && a.lines[0] <= b.lines[1] && b.lines[0] <= a.lines[1]

/** What a passage lacks against the last one that was handed on. */
export function reasonOf(how: How | null | undefined, last: How | null | undefined): NearMissReason {
  const words = how?.lexical?.share ?? 0
  const meaning = how?.vector?.share ?? 0
  if (how && !how.vector && last?.vector) return 'no_vector_yet'
  if (!how?.lexical && last?.lexical) return 'no_shared_word'
  const fewer = words < (last?.lexical?.share ?? 0)
  const farther = meaning < (last?.vector?.share ?? 0)
  if (fewer && farther) return 'both_weaker'
  return farther ? 'farther_meaning' : 'weaker_words'
}

/** Every candidate of an answer in the order of a weight; the first `k` that overlap none before them are chosen. */
export function rerank(search: Search, vectorWeight: number, k: number): Candidate[] {
  const asServer = vectorWeight === search.weights.vector && k === search.k
  const told = new Map(search.near_misses.map(miss => [miss.hit, miss]))
  const seen = new Map<string, number>()
  const scored: Scored[] = [...search.hits, ...search.near_misses.map(miss => miss.hit)].map((hit, i) => {
    const place = `${hit.source}:${hit.lines?.join('-') ?? ''}:${hit.heading ?? ''}`
    const nth = (seen.get(place) ?? 0) + 1
    seen.set(place, nth)
    const fused = asServer || !hit.how ? (hit.how?.fused ?? hit.score) : fusedOf(hit.how, vectorWeight)
    const overlaps = told.get(hit)?.reason === 'overlaps_a_hit'
    return { key: `${place}:${nth}`, hit, before: hit.how?.rank ?? i + 1, fused, overlaps }
  })
  if (!asServer) scored.sort((a, b) => b.fused - a.fused || a.before - b.before)
  const chosen: Scored[] = []
  for (const item of asServer ? scored.slice(0, search.hits.length) : scored) {
    const inTheWay = item.overlaps && chosen.some(other => overlap(other.hit, item.hit))
    if (chosen.length < k && !inTheWay) chosen.push(item)
  }
  const last = chosen.at(-1)
  const rest = scored.filter(item => !chosen.includes(item))
  return [...chosen, ...rest].map((item, i) => {
    const { key, hit, before, fused } = item
    const isChosen = i < chosen.length
    const miss = asServer ? told.get(hit) : undefined
    const covered = item.overlaps && chosen.some(other => overlap(other.hit, hit))
    const reason = miss?.reason ?? (covered ? 'overlaps_a_hit' : reasonOf(hit.how, last?.hit.how))
    const behind = miss?.behind ?? Math.max(0, (last?.fused ?? 0) - fused)
    return {
      key,
      hit,
      before,
      fused,
      rank: i + 1,
      chosen: isChosen,
      miss: isChosen ? null : { reason, behind },
    }
  })
}
