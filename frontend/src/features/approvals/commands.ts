import type { Answer } from '@/api/approvals'
import { keys, queryClient } from '@/api/queries'
import type { Approval } from '@/api/types'
import { type CommandContext, defineCommands } from '@/app/command'
import { t } from '@/lib/i18n'
import { toast } from '@/stores/toasts'
import { useUi } from '@/stores/ui'
import { answer } from './actions'
import { approvalCards, stepBars } from './cards'

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

/** Opens the conversation of a pending call. */
function show({ session_id }: Approval, { navigate }: CommandContext): void {
  navigate(`/s/${session_id}`)
  useUi.setState({ pane: 'chat', view: 'chat' })
}

/** Answers the oldest pending call. A card out of view is shown first: nobody allows what they do not see. */
const answerOldest = (given: Answer) => ({
  scope: 'uncovered' as const,
  enabled: () => {
    const oldest = oldestCall()
    // While the person writes a reason to deny the call, it cannot be allowed.
    const denying = oldest && approvalCards.get(oldest.id)?.form === 'deny'
    return oldest !== undefined && !(denying && given.decision === 'approve')
  },
  run: (context: CommandContext): void => {
    const oldest = oldestCall()
    if (!oldest) return
    const card = approvalCards.get(oldest.id)
    const element = card?.element()
    if (oldest.session_id !== context.sessionId || !card || !element) show(oldest, context)
    // If the person is changing the input or writing a reason, that form is submitted.
    else if (card.form === given.decision) card.submit()
    else if (!isInSight(element)) element.scrollIntoView({ block: 'end' })
    else void give(oldest, given)
  },
})

/** The pending calls of the step that has waited longest. */
function oldestStep(): Approval[] {
  const all = queryClient.getQueryData<Approval[]>(keys.approvals) ?? []
  return all.filter(({ work_id }) => work_id === all[0]?.work_id)
}

export const approvalCommands = defineCommands([
  {
    id: 'allowOldest',
    label: 'allowOldest',
    keys: { code: 'Enter', mod: true, alt: true },
    ...answerOldest({ decision: 'approve' }),
  },
  {
    id: 'allowStep',
    label: 'allowStep',
    keys: { code: 'Enter', mod: true, alt: true, shift: true },
    scope: 'uncovered',
    enabled: () => oldestStep().length > 1,
    run: context => {
      const [oldest] = oldestStep()
      const bar = stepBars.get(oldest?.work_id ?? '')
      const element = bar?.element()
      if (!oldest) return
      if (!element) show(oldest, context)
      else if (isInSight(element)) bar?.allow()
      else element.scrollIntoView({ block: 'end' })
    },
  },
  {
    id: 'denyOldest',
    label: 'denyOldest',
    keys: { code: 'Backspace', mod: true, alt: true },
    ...answerOldest({ decision: 'deny' }),
  },
])
