/** Finds words in what a conversation shows. */
import { wordsOf } from '@/lib/needle'
import type { Entry, Thread } from './model'
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

/** Ids of the entries that contain all words, from the top. */
export function entriesWith(thread: Thread | null, query: string): string[] {
  const words = wordsOf(query.toLowerCase())
  if (!thread || words.length === 0) return []
  return thread.entries
    .filter(entry => {
      const text = textOf(entry).toLowerCase()
      return words.every(word => text.includes(word))
    })
    .map(entry => entry.id)
}
