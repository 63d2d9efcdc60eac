/** A search as the server tells it, small enough to check by hand. */
import type { Hit, How, NearMissReason, Search } from '@/api/retrieval'

/** The shares of one passage: words, meaning; null where the side knows nothing of it. */
export const how = (rank: number, words: number | null, meaning: number | null, weight = 0.35): How => ({
  rank,
  fused: weight * (meaning ?? words ?? 0) + (1 - weight) * (words ?? 0),
  ...(words === null
    ? {}
    : {
        lexical: {
          score: words * 8,
          rank,
          share: words,
          terms: [{ term: 'key', score: words * 8, times: 2, texts: 3 }],
        },
      }),
  ...(meaning === null ? {} : { vector: { cosine: 0.3 + meaning / 2, rank, share: meaning } }),
})

export const hit = (source: string, lines: [number, number], of: How): Hit => ({
  text: `Text of ${source} at ${lines[0]}.`,
  score: of.fused,
  source,
  heading: 'Title › Part',
  lines,
  how: of,
})

const miss = (found: Hit, reason: NearMissReason, last: number) => ({
  hit: found,
  behind: last - (found.how?.fused ?? 0),
  reason,
  detail: `It is ${reason}.`,
})

/** Four passages: strong in words; strong in both; in meaning only; and one that overlaps the first. */
export function search(): Search {
  const words = hit('knowledge/words.md', [1, 5], how(1, 1, 0.6))
  const both = hit('knowledge/both.md', [3, 9], how(2, 0.7, 0.9))
  const meaning = hit('knowledge/meaning.md', [7, 7], how(4, null, 1))
  const beside = hit('knowledge/words.md', [5, 8], how(3, 0.75, 0.75))
  const last = both.how?.fused ?? 0
  return {
    query: 'where is the key',
    folder: 'knowledge',
    k: 2,
    weights: { lexical: 0.65, vector: 0.35, reason: 'balanced' },
    terms: [
      { term: 'key', texts: 3, idf: 2.1 },
      { term: 'gone', texts: 0, idf: 0 },
    ],
    ignored: ['where', 'is', 'the'],
    model: { id: 'small', dimension: 256 },
    embedded: { done: 9, total: 9 },
    hits: [words, both],
    near_misses: [miss(beside, 'overlaps_a_hit', last), miss(meaning, 'no_shared_word', last)],
    took_us: { refresh: 200, lexical: 90, embed: 900, vector: 40, fuse: 10 },
  }
}
