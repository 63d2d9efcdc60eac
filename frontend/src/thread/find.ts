/** Finds words in what a conversation shows. */
import { wordsOf } from '@/lib/needle'
import type { Entry, Step, Thread } from './model'
import { entryOf } from './places'

function textOf(entry: Entry): string {
  switch (entry.kind) {
    case 'user':
      return [entry.content, ...entry.attachments.map(file => file.name)].join('\n')
    case 'summary':
      return entry.content
    case 'assistant':
      return entry.segments.flatMap(s => (s.kind === 'text' ? [s.text] : [])).join('\n')
  }
}

/** Characters of a message by which a person recognizes it. */
const BEGINNING = 60

/** The beginning of a message, on one line; empty if the thread does not have it. */
export function beginningOf(thread: Thread, message: string): string {
  const id = entryOf(thread, message)
  const entry = thread.entries.find(entry => entry.id === id)
  const text = entry ? textOf(entry).trim().replace(/\s+/g, ' ') : ''
  return text.length > BEGINNING ? `${text.slice(0, BEGINNING)}…` : text
}

/** Tells whether a text contains all words of a query; null for a query without words. */
export function matcher(query: string): ((text: string) => boolean) | null {
  const words = wordsOf(query.toLowerCase())
  if (words.length === 0) return null
  return text => {
    const lower = text.toLowerCase()
    return words.every(word => lower.includes(word))
  }
}

const isInStep = ({ input, output }: Step, has: (text: string) => boolean): boolean =>
  has(`${input}\n${output}`)

/** Whether the words are in a call or a file of the entry: what is not in its visible text. */
function isFolded(entry: Entry, has: (text: string) => boolean): boolean {
  if (entry.kind === 'user') return entry.attachments.some(file => has(file.content))
  if (entry.kind === 'summary') return false
  return entry.segments.some(s => s.kind === 'tools' && s.steps.some(step => isInStep(step, has)))
}

/** Ids of the entries that contain all words, from the top: in their text, or in one call or file of theirs. */
export function entriesWith(thread: Thread | null, query: string): string[] {
  const has = matcher(query)
  if (!thread || !has) return []
  return thread.entries.filter(entry => has(textOf(entry)) || isFolded(entry, has)).map(entry => entry.id)
}

/** The chains and steps of an entry that must be unfolded to see the words; none if its text contains them. */
export function foldsAround(thread: Thread | null, id: string | null, query: string): string[] {
  const entry = thread?.entries.find(entry => entry.id === id)
  const has = matcher(query)
  if (!has || entry?.kind !== 'assistant' || has(textOf(entry))) return []
  return entry.segments.flatMap((segment, i) => {
    if (segment.kind !== 'tools') return []
    const chain = `${entry.id}:${i}`
    const found = segment.steps.filter(step => isInStep(step, has))
    return found.length > 0 ? [chain, ...found.map(step => `${chain}:${step.id}`)] : []
  })
}
