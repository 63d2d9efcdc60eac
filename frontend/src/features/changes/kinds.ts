/** How changes of files are shown: what happened to a file, and what its versions are. */
import type { ChangedFile, FileVersionFacts } from '@/api/types'
import type { Key } from '@/lib/i18n'

/** A changed file as its content is shown: of a conversation, or of a call that a person is asked about. */
export type ShownChange = Pick<ChangedFile, 'path' | 'kind' | 'before' | 'after' | 'added' | 'removed'>

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
  not_kept: 'changeUndoNotKept',
}

export type Content = FileVersionFacts['content']

/** Why the versions are not compared; null if they are shown. */
export const NOT_SHOWN: Readonly<Record<Content, Key | null>> = {
  text: null,
  picture: null,
  link: null,
  folder: null,
  binary: 'changeBinary',
  too_large: 'changeTooLarge',
  not_kept: 'changeNotKept',
  dropped: 'changeDropped',
  damaged: 'changeDamaged',
}

/**
 * What both versions of a file are together: text only if both are, a picture only if both are. Where a link or a folder
 * takes the place of something else, each version is shown for itself.
 */
export function contentOf({ before, after }: Pick<ShownChange, 'before' | 'after'>): Content {
  const all = [before, after].flatMap(version => version?.content ?? [])
  const [first] = all
  if (all.includes('damaged')) return 'damaged'
  if (all.includes('dropped')) return 'dropped'
  if (all.includes('not_kept')) return 'not_kept'
  if (all.includes('too_large')) return 'too_large'
  if (all.includes('link')) return 'link'
  if (all.includes('folder')) return 'folder'
  return first !== undefined && all.every(content => content === first) ? first : 'binary'
}

/** The words for a changed executable bit; null if it stays. A new file counts as changed only if it is executable. */
export function modeChange({ before, after }: Pick<ShownChange, 'before' | 'after'>): Key | null {
  // Folders and links have no such bit of their own.
  if (!after || after.content === 'folder' || after.content === 'link') return null
  const [was, is] = [before?.executable ?? false, after.executable]
  return was === is ? null : is ? 'changeExecutable' : 'changeNotExecutable'
}

/** The calls that changed a file, oldest first. */
export const callsOf = (file: ChangedFile): string[] => file.works.flatMap(work => work.calls)
