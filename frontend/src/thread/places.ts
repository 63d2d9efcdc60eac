/** Where a message stands in a thread. */
import type { Entry, Thread } from './model'

/** A message of an answer is named after its work, also before a history has told its id. */
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

/** The entry's id, or null when the message is not there. */
export const entryOf = (thread: Thread, message: string): string | null =>
  thread.entries.find(entry => holds(entry, message))?.id ?? null
