import type { Approval } from '@/api/types'
import { FileRef } from '@/lib/roots'

/**
 * Whether a standing rule can allow the call: each write to a persona, memory or skill file needs its own approval.
 */
export const canBeAlways = ({ shown }: Approval): boolean =>
  FileRef.parse(shown.path ?? '')?.traits.approval !== 'each'
