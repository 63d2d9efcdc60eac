import type { Answer } from '@/api/approvals'
import { keys, queryClient } from '@/api/queries'
import type { Approval } from '@/api/types'
import { type CommandContext, defineCommands } from '@/app/command'
import { t } from '@/lib/i18n'
import { toast } from '@/stores/toasts'
import { useUi } from '@/stores/ui'
import { answer } from './actions'
import { approvalCards } from './cards'

/** Whether the whole card is visible, or its end if the card is taller than the view. */
function isInSight(card: HTMLElement): boolean {
  const box = card.closest('[role=log]')?.getBoundingClientRect()
  if (!box) return true
  const { top, bottom, height } = card.getBoundingClientRect()
  return bottom > box.top && bottom <= box.bottom + 1 && (top >= box.top - 1 || height > box.height)
}

async function give(approval: Approval, given: Answer): Promise<void> {
  const reason = await answer(approval, given)
  if (reason !== null) toast(t('notDone', { reason }), { tone: 'bad' })
}

const oldestCall = () => queryClient.getQueryData<Approval[]>(keys.approvals)?.[0]

/** Answers the oldest pending call. A card out of view is shown first: nobody allows what they do not see. */
const answerOldest = (given: Answer) => ({
  scope: 'uncovered' as const,
  enabled: () => {
    const oldest = oldestCall()
    // While the person writes a reason to deny the call, it cannot be allowed.
    const denying = oldest && approvalCards.get(oldest.id)?.form === 'deny'
    return oldest !== undefined && !(denying && given.decision === 'approve')
  },
  run: ({ sessionId, navigate }: CommandContext): void => {
    const oldest = oldestCall()
    if (!oldest) return
    const card = approvalCards.get(oldest.id)
    const element = card?.element()
    if (oldest.session_id !== sessionId || !card || !element) {
      navigate(`/s/${oldest.session_id}`)
      useUi.setState({ pane: 'chat', view: 'chat' })
      return
    }
    // If the person is changing the input or writing a reason, that form is submitted.
    if (card.form === given.decision) card.submit()
    else if (!isInSight(element)) element.scrollIntoView({ block: 'end' })
    else void give(oldest, given)
  },
})

export const approvalCommands = defineCommands([
  {
    id: 'allowOldest',
    label: 'allowOldest',
    keys: { code: 'Enter', mod: true, alt: true },
    ...answerOldest({ decision: 'approve' }),
  },
  {
    id: 'denyOldest',
    label: 'denyOldest',
    keys: { code: 'Backspace', mod: true, alt: true },
    ...answerOldest({ decision: 'deny' }),
  },
])
