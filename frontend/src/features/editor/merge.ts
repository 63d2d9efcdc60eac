/** Two versions in one text, and under each place where they differ the choice between them. */
import { unifiedMergeView } from '@codemirror/merge'
import type { Extension } from '@codemirror/state'
import { type Key, t } from '@/lib/i18n'
import '@/lib/later'

/** What the text is compared with: the file as it is on disk, or an earlier version of it. */
export type Other = 'disk' | 'earlier'

/** CodeMirror calls it accepting when the text stays, and rejecting when the other version takes its place. */
export const CHOICES: Readonly<Record<Other, Record<'accept' | 'reject', Key>>> = {
  disk: { accept: 'mergeMine', reject: 'mergeDisk' },
  earlier: { accept: 'mergeKeep', reject: 'mergeBack' },
}

export const compared = (original: string, other: Other): Extension =>
  unifiedMergeView({
    original,
    mergeControls: (name, choose) => {
      const button = document.createElement('button')
      button.type = 'button'
      button.name = name
      button.textContent = t(CHOICES[other][name])
      button.onmousedown = choose
      return button
    },
  })
