import type { Approval } from '@/api/types'
import { FileRef } from '@/lib/roots'

/**
 * Whether a standing rule can allow the call: each write to a persona, memory or skill file, or to one that other programs
 * run later, needs its own approval.
 */
export const canBeAlways = ({ shown, because }: Approval): boolean =>
  because?.code !== 'runs_later' &&
  !shown.secrets?.length &&
  FileRef.parse(shown.path ?? '')?.traits.approval !== 'each'
