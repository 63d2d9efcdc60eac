/**
 * Finds the words of a question in a text. Terms are stems, so they match the start of a word; in Chinese they match
 * anywhere.
 */

const isCjk = (term: string): boolean => /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(term)
const escaped = (term: string): string => term.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')

const pattern = (term: string): string =>
  isCjk(term)
    ? escaped(term)
    : // The stem of “memory” is “memori”.
      `(?<![\\p{L}\\p{N}])${escaped(term).replace(/i$/, '[iy]')}[\\p{L}\\p{N}]*`

export interface Stretch {
  text: string
  marked: boolean
}

export function markTerms(text: string, terms: readonly string[]): Stretch[] {
  if (terms.length === 0) return [{ text, marked: false }]
  const longestFirst = terms.toSorted((a, b) => b.length - a.length)
  // Neighbouring pairs of Chinese characters overlap; the repetition merges them into one mark.
  const words = new RegExp(`(?:${longestFirst.map(pattern).join('|')})+`, 'giu')
  const out: Stretch[] = []
  let done = 0
  for (const found of text.matchAll(words)) {
    if (found.index > done) out.push({ text: text.slice(done, found.index), marked: false })
    out.push({ text: found[0], marked: true })
    done = found.index + found[0].length
  }
  if (done < text.length) out.push({ text: text.slice(done), marked: false })
  return out
}

/** Maximum characters before the first marked word, where space is short. */
const LEAD = 90

/** The text from shortly before the first match on, for a place that shows only the beginning of a text. */
export function fromFirstTerm(text: string, terms: readonly string[]): string {
  const [before, found] = markTerms(text, terms)
  if (!found || !before || before.marked || before.text.length <= LEAD) return text
  const lead = before.text.slice(-LEAD)
  const start = Math.max(lead.lastIndexOf('\n'), lead.search(/[\s。，；：、！？]/))
  return `… ${text.slice(before.text.length - LEAD + start + 1)}`
}
