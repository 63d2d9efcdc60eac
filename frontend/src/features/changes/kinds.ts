/** How changes of files are shown: what happened to a file, and what its versions are. */
import type { ChangedFile, FileVersionFacts } from '@/api/types'
import type { Key } from '@/lib/i18n'

interface Look {
  /** The letter that version control uses. */
  letter: string
  word: Key
  tone: string
}

export const KINDS: Readonly<Record<ChangedFile['kind'], Look>> = {
  created: { letter: 'A', word: 'changeCreated', tone: 'text-ok' },
  changed: { letter: 'M', word: 'changeChanged', tone: 'text-warn' },
  deleted: { letter: 'D', word: 'changeDeleted', tone: 'text-bad' },
  renamed: { letter: 'R', word: 'changeRenamed', tone: 'text-accent' },
}

/** Why a file cannot be undone alone. */
export const UNDO_REASONS: Readonly<Record<Exclude<ChangedFile['undo'], 'possible'>, Key>> = {
  shared: 'changeUndoShared',
  changed: 'changeUndoChanged',
  compacted: 'changeUndoCompacted',
}

export type Content = FileVersionFacts['content']

/** What both versions of a file are together: text only if both are, a picture only if both are. */
export function contentOf({ before, after }: ChangedFile): Content {
  const all = [before, after].flatMap(version => version?.content ?? [])
  const [first] = all
  if (all.includes('damaged')) return 'damaged'
  if (all.includes('too_large')) return 'too_large'
  return first !== undefined && all.every(content => content === first) ? first : 'binary'
}

/** The words for a changed executable bit; null if it stays. A new file counts as changed only if it is executable. */
export function modeChange({ before, after }: ChangedFile): Key | null {
  if (!after) return null
  const [was, is] = [before?.executable ?? false, after.executable]
  return was === is ? null : is ? 'changeExecutable' : 'changeNotExecutable'
}

/** The calls that changed a file, oldest first. */
export const callsOf = (file: ChangedFile): string[] => file.works.flatMap(work => work.calls)
