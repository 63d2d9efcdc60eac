/** Texts for the server's codes. A code without one falls back to the server's own sentence. */
import type { Place } from '@/api/retrieval'
import type { Lost, WeightReason } from '@/api/types'
import { fixed } from '@/lib/format'
import type { Key, Translate } from '@/lib/i18n'

/** Formats scores, shares and cosines. */
export const points = (n: number | null | undefined): string => (n == null ? '–' : fixed(n, 2))

const MISS: Record<Lost, Key> = {
  no_shared_word: 'missNoWord',
  weaker_words: 'missWords',
  farther_meaning: 'missMeaning',
  both_weaker: 'missBoth',
  no_vector_yet: 'missNoVector',
}

export function missWords({ score, how }: Place, reason: Lost, detail: string, t: Translate): string {
  const key: Key | undefined = MISS[reason]
  if (!key) return detail
  return t(key, {
    score: points(score),
    words: points(how?.lexical?.share),
    meaning: points(how?.vector?.share),
    cosine: points(how?.vector?.cosine),
  })
}

const WEIGHT: Record<WeightReason, Key> = {
  balanced: 'weightBalanced',
  no_model: 'weightNoModel',
  embedding: 'weightEmbedding',
  embedding_failed: 'weightFailed',
  withheld: 'weightWithheld',
  unknown_language: 'weightUnknownLanguage',
  identifier: 'weightIdentifier',
  quoted: 'weightQuoted',
  asked: 'weightAsked',
}

export const weightWords = (reason: WeightReason, t: Translate): string =>
  WEIGHT[reason] ? t(WEIGHT[reason]) : reason

/** A place as a person writes it: `a.md:12–20`. */
export function placeText({ source, lines }: Pick<Place, 'source' | 'lines'>): string {
  if (!lines) return source
  return lines[0] === lines[1] ? `${source}:${lines[0]}` : `${source}:${lines[0]}–${lines[1]}`
}
