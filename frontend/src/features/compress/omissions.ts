/** Finds what the originals mention and a summary does not, by comparing text. */
import type { CompressionPlan, Mention } from '@/api/types'

const SHARE_OF_WORDS = 0.5

/** Words of four letters and more; for scripts without spaces, each pair of characters. */
function wordsOf(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return [
    ...new Set(
      words.flatMap(word =>
        /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}/u.test(word)
          ? Array.from({ length: Math.max(1, word.length - 1) }, (_, at) => word.slice(at, at + 2))
          : word.length >= 4
            ? [word]
            : [],
      ),
    ),
  ]
}

const part = (character: string | undefined): boolean => character !== undefined && /[a-z0-9]/.test(character)

/** Whether `name` occurs in `text` as a whole: 15 does not occur in 1500. */
function names(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const [before, after] = [text[at - 1], text[at + name.length]]
    if (!(part(before) && part(name[0])) && !(part(after) && part(name.at(-1)))) return true
  }
  return false
}

/** A question counts as kept if at least half of its words are in the summary. */
function keeps(summary: string, { kind, text }: Mention): boolean {
  const lower = summary.toLowerCase()
  if (kind !== 'question') return names(lower, text.toLowerCase())
  const words = wordsOf(text)
  return lower.includes(text.toLowerCase())
    ? true
    : words.length > 0 && words.filter(word => lower.includes(word)).length >= words.length * SHARE_OF_WORDS
}

export const missingFrom = (summary: string, mentions: readonly Mention[]): Mention[] =>
  mentions.filter(mention => !keeps(summary, mention))

/** Estimated tokens per character. */
const GUESS = { wide: 1, other: 0.3 }

/** Estimated tokens of the next request with this summary. */
export function tokensWith(summary: string, plan: CompressionPlan): number {
  const wide = summary.match(/[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]/g)?.length ?? 0
  return plan.tokens_without + Math.round(wide * GUESS.wide + (summary.length - wide) * GUESS.other)
}

/** Appends a text to the summary as a paragraph of its own, so that it does not continue a list. */
export const withAdded = (summary: string, text: string): string =>
  summary.trim() === '' ? text : `${summary.trimEnd()}\n\n${text}`
