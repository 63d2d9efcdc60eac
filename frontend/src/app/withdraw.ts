/** Withdrawing a work, and reapplying it. The stream reports what became of it to every tab. */
import { hasCode } from '@/api/client'
import { reapplyWork, withdrawWork } from '@/api/endpoints'
import { keys, refresh } from '@/api/queries'
import { t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { toast } from '@/stores/toasts'
import { attempt } from './threads'

/** Withdraws a work; the files `keep` stay as they are. */
export async function withdraw(session: string, work: string, keep: readonly string[]): Promise<void> {
  const done = await attempt(() => withdrawWork(session, work, keep))
  refresh(keys.operations(session))
  if (!done) return
  const undo = () => void reapply(session, work)
  toast(t('withdrawnDone'), { action: { label: t('undo'), run: undo } })
}

/** The files that a refusal names. */
function filesOf(error: unknown): string[] {
  const named = hasCode(error, 'files_changed') || hasCode(error, 'not_kept')
  const about: unknown = named ? error.body.about : null
  const files = typeof about === 'object' && about !== null && 'files' in about ? about.files : null
  return typeof files === 'string' ? files.split('\n') : []
}

/** Reapplies a withdrawn work. If files have changed since, or their content is not kept any more, offers to keep them. */
export async function reapply(session: string, work: string, keep: readonly string[] = []): Promise<void> {
  try {
    await reapplyWork(session, work, keep)
    toast(t('reapplied'))
  } catch (error) {
    const changed = filesOf(error)
    const run = () => void reapply(session, work, [...keep, ...changed])
    const action = changed.length > 0 && { label: t('reapplyKeep'), run }
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad', ...(action && { action }) })
  }
  refresh(keys.operations(session))
}
