import type { Approval } from '@/api/types'
import type { Translate } from '@/lib/i18n'
import { FileRef } from '@/lib/roots'

/** Describes in one line what the call would do. */
export function titleOf({ tool, effect, shown }: Approval, t: Translate): string {
  if (shown.path) return t(tool === 'delete_file' ? 'approvalDelete' : 'approvalWrite', { path: shown.path })
  if (tool === 'terminal') return t('approvalRun')
  if (effect === 'execute') return t('approvalCode')
  return effect === 'network' ? t('approvalNetwork') : t('approvalUse', { tool })
}

/**
 * Whether a standing rule can allow the call: each write to a persona, memory or skill file needs its own approval.
 */
export const canBeAlways = ({ shown }: Approval): boolean =>
  FileRef.parse(shown.path ?? '')?.traits.approval !== 'each'
