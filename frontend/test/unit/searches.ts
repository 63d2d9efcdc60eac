/** A search as the server returns it, small enough to check by hand. */
import type { Hit, How, Lost, Search } from '@/api/types'

const SERVER = 0.2
export const FOREIGN = 0.8

/** The shares of one passage by words and by meaning; null if that retriever does not know the passage. */
export const how = (rank: number, words: number | null, meaning: number | null, weight = SERVER): How => ({
  rank,
  vector_weight: weight,
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

export function hit(source: string, lines: [number, number], of: How): Hit {
  const { lexical, vector, vector_weight: weight = 0 } = of
  const words = lexical?.share ?? 0
  return {
    text: `Text of ${source} at ${lines[0]}.`,
    score: weight * (vector?.share ?? words) + (1 - weight) * words,
    source,
    heading: 'Title › Part',
    lines,
    range: [lines[0] * 10, lines[1] * 10],
    how: of,
  }
}

const miss = (found: Hit, reason: Lost, last: Hit) => ({
  hit: found,
  behind: last.score - found.score,
  reason,
  detail: `It is ${reason}.`,
})

/** Four passages: strong in words; strong in both; in another script; in meaning only. */
export function search(): Search {
  const words = hit('knowledge/words.md', [1, 5], how(1, 1, 0.5))
  const both = hit('knowledge/both.md', [3, 9], how(2, 0.7, 0.9))
  const foreign = hit('knowledge/外.md', [5, 8], how(3, null, 0.75, FOREIGN))
  const meaning = hit('knowledge/meaning.md', [7, 7], how(4, null, 1))
  return {
    query: 'where is the key',
    folder: 'knowledge',
    k: 2,
    weights: { lexical: 0.8, vector: SERVER, other_script: FOREIGN, reason: 'balanced' },
    terms: [
      { term: 'key', texts: 3, idf: 2.1 },
      { term: 'gone', texts: 0, idf: 0 },
    ],
    ignored: ['where', 'is', 'the'],
    model: { id: 'small', dimension: 256 },
    embedded: { done: 9, total: 9 },
    hits: [words, both],
    near_misses: [miss(foreign, 'no_shared_word', both), miss(meaning, 'no_shared_word', both)],
    took_us: { refresh: 200, lexical: 90, embed: 900, vector: 40, fuse: 10 },
  }
}
