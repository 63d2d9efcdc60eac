/** A person's answers to pending calls, and the removal of standing rules. */
import type { Answer } from '@/api/approvals'
import { ApiError, hasCode } from '@/api/client'
import { answerApproval, rehearseApproval, removeAlways } from '@/api/endpoints'
import { dropApproval, keys, markRehearsing, refresh } from '@/api/queries'
import type { Approval } from '@/api/types'
import { type Key, t } from '@/lib/i18n'
import '@/lib/later'
import { reasonOf } from '@/lib/reason'
import { announce } from '@/stores/announcer'
import { toast } from '@/stores/toasts'

/** The request is outdated; the list has its current state. */
const OUTDATED: Record<string, Key> = {
  expired: 'approvalExpired',
  hash_differs: 'approvalChanged',
  already_answered: 'approvalGone',
  not_found: 'approvalGone',
}

const reload = { label: t('reload'), run: () => location.reload() }

/** Returns null if the card only has to show its current state, else the reason, which is shown where the request was made. */
function refused(error: unknown): string | null {
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

/** Returns null on success, else the reason, which is shown where the answer was given. */
export async function answer(approval: Approval, given: Answer): Promise<string | null> {
  try {
    await answerApproval(approval, given)
    dropApproval(approval.id)
    return null
  } catch (error) {
    return refused(error)
  }
}

/** Has a pending command tried out. Returns null on success, else the reason. */
export async function tryOut({ id }: Approval): Promise<string | null> {
  try {
    const { state } = await rehearseApproval(id)
    if (state === 'running') {
      markRehearsing(id)
      announce(t('tryingOut'))
    } else refresh(keys.approvals)
    return null
  } catch (error) {
    // The card says why.
    if (hasCode(error, 'unrehearsable')) refresh(keys.approvals)
    return refused(error)
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
