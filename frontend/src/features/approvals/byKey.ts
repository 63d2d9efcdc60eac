/** Answers to pending calls by their shortcuts. What is out of view is shown first: nobody allows what they do not see. */
import type { Answer } from '@/api/approvals'
import type { Approval } from '@/api/types'
import type { CommandContext } from '@/app/command'
import { t } from '@/lib/i18n'
import { toast } from '@/stores/toasts'
import { showMiddle, useUi } from '@/stores/ui'
import { answer } from './actions'
import { approvalCards, stepBars } from './cards'
import { goOn } from './goOn'

/** Whether the whole element is visible, or its end if it is taller than the view. */
function isInSight(element: HTMLElement): boolean {
  const box = element.closest('[role=log]')?.getBoundingClientRect()
  if (!box) return true
  const { top, bottom, height } = element.getBoundingClientRect()
  return bottom > box.top && bottom <= box.bottom + 1 && (top >= box.top - 1 || height > box.height)
}

async function give(approval: Approval, given: Answer): Promise<void> {
  const reason = await answer(approval, given)
  if (reason === null) goOn(approval.id)
  else toast(t('notDone', { reason }), { tone: 'bad' })
}

/** Opens the conversation of a pending call. */
function show({ session_id }: Approval, { navigate }: CommandContext): void {
  navigate(`/s/${session_id}`)
  showMiddle()
  useUi.setState({ view: 'chat' })
}

export function answerCard(approval: Approval, given: Answer, context: CommandContext): void {
  const card = approvalCards.get(approval.id)
  const element = card?.element()
  if (approval.session_id !== context.sessionId || !card || !element) show(approval, context)
  // If the person is changing the input or writing a reason, that form is submitted.
  else if (card.form === given.decision) card.submit()
  else if (!isInSight(element)) element.scrollIntoView({ block: 'end' })
  else void give(approval, given)
}

/** Allows all pending calls of the step of this one. */
export function allowStep(oldest: Approval, context: CommandContext): void {
  const bar = stepBars.get(oldest.work_id)
  const element = bar?.element()
  if (!element) show(oldest, context)
  else if (isInSight(element)) bar?.allow()
  else element.scrollIntoView({ block: 'end' })
}
