/** What becomes of the files of a work that is withdrawn. */
import type { FileUndo } from '@/api/types'
import type { Thread } from '@/thread/model'

/** Deletions come first: they are what a person looks for. */
const ORDER: Partial<Record<FileUndo['effect'], number>> = { deleted: 0, changed: 1, created: 2 }

export const sorted = (files: readonly FileUndo[]): FileUndo[] =>
  files.toSorted((a, b) => (ORDER[a.effect] ?? 3) - (ORDER[b.effect] ?? 3))

/** Whether a withdrawal is refused unless the file is kept. */
export const hasConflict = (file: FileUndo): boolean =>
  file.changed_since || file.not_kept === true || (file.later_works?.length ?? 0) > 0

/** What the person asked in a work; null if it is not loaded. */
export function questionOf(thread: Thread | null, work: string): string | null {
  const asked = thread?.entries.find(entry => entry.kind === 'user' && entry.workId === work)
  return asked?.kind === 'user' && asked.content.trim() !== '' ? asked.content.trim() : null
}
