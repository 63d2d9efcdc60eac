/** Search words match anywhere in a text, as on the server. */
export interface Stretch {
  text: string
  marked: boolean
}

export const wordsOf = (query: string): string[] => query.split(/\s+/).filter(word => word !== '')

const escaped = (word: string): string => word.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')

export function markWords(text: string, words: readonly string[]): Stretch[] {
  if (words.length === 0) return [{ text, marked: false }]
  const pattern = new RegExp(
    words
      .toSorted((a, b) => b.length - a.length)
      .map(escaped)
      .join('|'),
    'giu',
  )
  const out: Stretch[] = []
  let done = 0
  for (const found of text.matchAll(pattern)) {
    if (found.index > done) out.push({ text: text.slice(done, found.index), marked: false })
    out.push({ text: found[0], marked: true })
    done = found.index + found[0].length
  }
  if (done < text.length) out.push({ text: text.slice(done), marked: false })
  return out
}
