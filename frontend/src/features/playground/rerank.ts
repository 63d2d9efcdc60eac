/**
 * Ranks passages by the share of each retriever, so that the page can change the weights without another search:
 * `score = w · meaning + u · pieces + (1 − w − u) · words`, u = 0 if pieces were not compared. A retriever that does
 * not know a passage adds nothing, but a passage without a vector must not lose for that: its words count for both.
 */
import type { Hit, How, Lost, Search, Weights } from '@/api/types'
import { isForeign } from '@/features/retrieval/ranking'

export interface Candidate {
  /** Identifies the passage in every ranking. */
  key: string
  hit: Hit
  /** Under the requested weight: rank, score, and the weight of the meaning for this passage. */
  rank: number
  score: number
  weight: number
  /** Rank under the server's own weight. */
  before: number
  /** Among the first k, and so handed on. */
  chosen: boolean
  /** Why it is not, and how far its score is behind the last passage that is. */
  miss: { reason: Lost; behind: number } | null
}

export function scoreOf(how: How, vectorWeight: number): number {
  const words = how.lexical?.share ?? 0
  const meaning = how.vector ? how.vector.share : words
  const { weight, share } = how.late ?? { weight: 0, share: 0 }
  return vectorWeight * meaning + weight * share + Math.max(0, 1 - vectorWeight - weight) * words
}

/** The weight of the meaning for one passage, if it is `vectorWeight` for most. */
export const weightOf = (how: How, weights: Weights, vectorWeight: number): number =>
  isForeign(how, weights) ? Math.max(vectorWeight, weights.other_script) : vectorWeight

/** Why a passage ranks below the last one that was handed on. */
export function reasonOf(how: How | null | undefined, last: How | null | undefined): Lost {
  if (!how?.lexical) return 'no_shared_word'
  const words = how.lexical.share
  const fewer = words < (last?.lexical?.share ?? 0)
  const farther = how.vector != null && how.vector.share < (last?.vector?.share ?? last?.lexical?.share ?? 0)
  if (farther) return fewer ? 'both_weaker' : 'farther_meaning'
  return !how.vector && last?.vector ? 'no_vector_yet' : 'weaker_words'
}

/** Every candidate of an answer in the order of a weight; the first `k` are chosen. */
export function rerank(search: Search, vectorWeight: number, k: number): Candidate[] {
  const { weights } = search
  const asServer = vectorWeight === weights.vector
  const told = new Map(search.near_misses.map(miss => [miss.hit, miss]))
  const seen = new Map<string, number>()
  const scored = [...search.hits, ...told.keys()].map((hit, i) => {
    const { how } = hit
    const place = `${hit.source}:${(hit.range ?? hit.lines ?? []).join('-')}`
    const nth = (seen.get(place) ?? 0) + 1
    seen.set(place, nth)
    const weight = how ? weightOf(how, weights, vectorWeight) : vectorWeight
    const score = asServer || !how ? hit.score : scoreOf(how, weight)
    return { key: `${place}:${nth}`, hit, score, weight, before: how?.rank ?? i + 1 }
  })
  if (!asServer) scored.sort((a, b) => b.score - a.score || a.before - b.before)
  const last = scored[Math.min(k, scored.length) - 1]
  return scored.map((item, i) => {
    const chosen = i < k
    const own = asServer && k === search.k ? told.get(item.hit) : undefined
    const reason = own?.reason ?? reasonOf(item.hit.how, last?.hit.how)
    const behind = own?.behind ?? Math.max(0, (last?.score ?? 0) - item.score)
    return { ...item, rank: i + 1, chosen, miss: chosen ? null : { reason, behind } }
  })
}
