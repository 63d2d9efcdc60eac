/** What the server's codes mean, in words. An unknown code has no word here; then the server's own sentence stands. */
import type { Hit, NearMissReason, WeightReason } from '@/api/retrieval'
import type { Key, Translate } from '@/lib/i18n'

/** Points, shares and cosines. */
export const points = (n: number | null | undefined): string => (n == null ? '–' : n.toFixed(2))

const MISS: Record<NearMissReason, Key> = {
  no_shared_word: 'missNoWord',
  weaker_words: 'missWords',
  farther_meaning: 'missMeaning',
  both_weaker: 'missBoth',
  no_vector_yet: 'missNoVector',
  overlaps_a_hit: 'missOverlaps',
}

export function missWords(hit: Hit, reason: NearMissReason, detail: string, t: Translate): string {
  const key: Key | undefined = MISS[reason]
  if (!key) return detail
  return t(key, {
    fused: points(hit.how?.fused ?? hit.score),
    words: points(hit.how?.lexical?.share),
    meaning: points(hit.how?.vector?.share),
    cosine: points(hit.how?.vector?.cosine),
  })
}

export const WEIGHT: Record<WeightReason, Key> = {
  balanced: 'weightBalanced',
  no_model: 'weightNoModel',
  embedding: 'weightEmbedding',
  unknown_language: 'weightUnknownLanguage',
  identifier: 'weightIdentifier',
  quoted: 'weightQuoted',
  other_language: 'weightOtherLanguage',
  no_word_found: 'weightNoWord',
  asked: 'weightAsked',
}

export const weightWords = (reason: WeightReason, t: Translate): string =>
  WEIGHT[reason] ? t(WEIGHT[reason]) : reason

/** `a.md:12–20`, as a person reads a place. */
export function placeText(
  { source, lines, page }: Pick<Hit, 'source' | 'lines' | 'page'>,
  t: Translate,
): string {
  if (lines) return lines[0] === lines[1] ? `${source}:${lines[0]}` : `${source}:${lines[0]}–${lines[1]}`
  return page == null ? source : `${source} · ${t('page', { n: page })}`
}
