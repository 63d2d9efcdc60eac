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

/** The entry's id, or null if the message is not in the thread. */
export const entryOf = (thread: Thread, message: string): string | null =>
  thread.entries.find(entry => holds(entry, message))?.id ?? null
