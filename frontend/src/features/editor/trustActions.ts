/** What a person says of a version of a skill that came from outside the page. */
import { trustFile } from '@/api/endpoints'
import { keys, refresh } from '@/api/queries'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import type { FileRef } from '@/lib/roots'
import { useBuffers } from '@/stores/buffers'
import { toast } from '@/stores/toasts'
import { endComparison } from './actions'

/** Shows what has changed since the version that was trusted last; null ends that. */
export function review(file: FileRef, trusted: string | null): void {
  if (trusted === null) endComparison(file)
  else useBuffers.setState({ comparing: { file, disk: trusted } })
}

/** Counts only for the version that was looked at: the server refuses another. */
export async function trustVersion(file: FileRef, etag: string): Promise<void> {
  try {
    await trustFile(`${file}`, etag)
    endComparison(file)
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
  refresh(keys.skills)
}
