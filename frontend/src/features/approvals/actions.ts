/** A person's answers to pending calls, and the removal of standing rules. */
import type { Answer } from '@/api/approvals'
import { ApiError } from '@/api/client'
import { answerApproval, removeAlways } from '@/api/endpoints'
import { dropApproval, keys, refresh } from '@/api/queries'
import type { Approval } from '@/api/types'
import { type Key, t } from '@/lib/i18n'
import '@/lib/later'
import { reasonOf } from '@/lib/reason'
import { toast } from '@/stores/toasts'

/** The request is outdated; the list has its current state. */
const OUTDATED: Record<string, Key> = {
  expired: 'approvalExpired',
  hash_differs: 'approvalChanged',
  already_answered: 'approvalGone',
  not_found: 'approvalGone',
}

const reload = { label: t('reload'), run: () => location.reload() }

/** Returns null on success, else the reason, which is shown where the answer was given. */
export async function answer(approval: Approval, given: Answer): Promise<string | null> {
  try {
    await answerApproval(approval, given)
    dropApproval(approval.id)
    return null
  } catch (error) {
    if (!(error instanceof ApiError)) return reasonOf(error)
    const outdated = OUTDATED[error.code]
    if (outdated) {
      toast(t(outdated))
      refresh(keys.approvals)
      return null
    }
    if (error.code === 'no_secret') toast(t('approvalStale'), { tone: 'bad', action: reload })
    return reasonOf(error)
  }
}

export async function forget(rule: string): Promise<void> {
  try {
    await removeAlways(rule)
    toast(t('ruleRemoved'))
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
  }
  refresh(keys.always)
}
