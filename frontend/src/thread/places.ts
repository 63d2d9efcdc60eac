/** Finds the place of a message in a thread. */
import type { Entry, Thread } from './model'

/** The id of an answer's message starts with its work's id, which is known before a history has reported it. */
const holds = (entry: Entry, message: string): boolean => {
  switch (entry.kind) {
    case 'user':
      return entry.id === message
    case 'assistant':
      return entry.messageIds.includes(message) || message.startsWith(`${entry.workId}.`)
    case 'summary':
      return false
  }
}

/** The id of the first message of a thread; null if it has none. */
export function firstMessageOf(thread: Thread): string | null {
  const first = thread.entries.find(entry => entry.kind !== 'summary')
  return first?.kind === 'assistant' ? (first.messageIds[0] ?? null) : (first?.id ?? null)
}

/** The number of messages of a thread, as far as a history has reported them. */
export const messagesIn = (thread: Thread): number =>
  thread.entries.reduce((n, entry) => n + (entry.kind === 'assistant' ? entry.messageIds.length : 1), 0)

/** The entry's id, or null if the message is not in the thread. */
export const entryOf = (thread: Thread, message: string): string | null =>
  thread.entries.find(entry => holds(entry, message))?.id ?? null
