/** What became of a file, as a letter and a word. */
import type { GitChange } from '@/api/git'
import type { Key } from '@/lib/i18n'
import '@/lib/later'

export const KINDS: Record<GitChange, { letter: string; word: Key; tone: string }> = {
  added: { letter: 'A', word: 'gitAdded', tone: 'text-ok' },
  modified: { letter: 'M', word: 'gitModified', tone: 'text-warn' },
  deleted: { letter: 'D', word: 'gitDeleted', tone: 'text-bad' },
  renamed: { letter: 'R', word: 'gitRenamed', tone: 'text-accent' },
  copied: { letter: 'C', word: 'gitCopied', tone: 'text-accent' },
  type_changed: { letter: 'T', word: 'gitTypeChanged', tone: 'text-warn' },
  untracked: { letter: 'U', word: 'gitUntracked', tone: 'text-ok' },
  conflict: { letter: '!', word: 'gitConflict', tone: 'text-bad' },
}
