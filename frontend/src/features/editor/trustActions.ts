/** A person's decisions about a skill version that was not saved in the page. */
import { trustFile } from '@/api/endpoints'
import { keys, refresh } from '@/api/queries'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import type { FileRef } from '@/lib/roots'
import { useBuffers } from '@/stores/buffers'
import { toast } from '@/stores/toasts'
import { endComparison } from './actions'

/** Shows the changes since the version that was last trusted; null ends the comparison. */
export function review(file: FileRef, trusted: string | null): void {
  if (trusted === null) endComparison(file)
  else useBuffers.setState({ comparing: { file, disk: trusted } })
}

/** Trusts only the version that was reviewed: the server refuses any other. */
export async function trustVersion(file: FileRef, etag: string): Promise<void> {
  try {
    await trustFile(`${file}`, etag)
    endComparison(file)
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
  refresh(keys.skills)
}
