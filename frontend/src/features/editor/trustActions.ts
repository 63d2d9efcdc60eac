/** What a person says of a version of a skill that came from outside the page. */
import { trustFile } from '@/api/endpoints'
import { keys, refresh } from '@/api/queries'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { useBuffers } from '@/stores/buffers'
import { toast } from '@/stores/toasts'
import { endComparison } from './actions'

/** Shows what has changed since the version that was trusted last; null ends that. */
export function review(path: string, trusted: string | null): void {
  if (trusted === null) endComparison(path)
  else useBuffers.setState({ comparing: { path, disk: trusted } })
}

/** Counts only for the version that was looked at: the server refuses another. */
export async function trustVersion(path: string, etag: string): Promise<void> {
  try {
    await trustFile(path, etag)
    endComparison(path)
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
  refresh(keys.skills)
}
