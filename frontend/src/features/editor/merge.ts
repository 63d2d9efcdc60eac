/** Shows two versions in one text, with a choice at each difference. */
import { unifiedMergeView } from '@codemirror/merge'
import type { Extension } from '@codemirror/state'
import { type Key, t } from '@/lib/i18n'
import '@/lib/later'

/** What the text is compared with: the file on disk, or an earlier version of it. */
export type Other = 'disk' | 'earlier'

/** In CodeMirror, to accept is to keep the text, and to reject is to replace it with the other version. */
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
