import { keys, queryClient } from '@/api/queries'
import type { Approval } from '@/api/types'
import { type CommandContext, defineCommands } from '@/app/command'
import { approvalCards } from './cards'

/** The pending calls of all sessions, oldest first. */
const pending = () => queryClient.getQueryData<Approval[]>(keys.approvals) ?? []

/** The pending calls of the step that has waited longest. */
const oldestStep = (): Approval[] =>
  pending().filter(({ work_id, shown }) => work_id === pending()[0]?.work_id && !shown.elicitation)

/** Answers the oldest pending call. */
const answerOldest = (decision: 'approve' | 'deny') => ({
  scope: 'uncovered' as const,
  enabled: () => {
    const oldest = pending()[0]
    // While the person writes a reason to deny the call, it cannot be allowed.
    const denying = oldest && approvalCards.get(oldest.id)?.form === 'deny'
    return oldest !== undefined && !(denying && decision === 'approve')
  },
  run: (context: CommandContext): void => {
    const oldest = pending()[0]
    if (oldest) void import('./byKey').then(({ answerCard }) => answerCard(oldest, { decision }, context))
  },
})

export const approvalCommands = defineCommands([
  {
    id: 'allowOldest',
    label: 'allowOldest',
    keys: { code: 'Enter', mod: true, alt: true },
    ...answerOldest('approve'),
  },
  {
    id: 'allowStep',
    label: 'allowStep',
    keys: { code: 'Enter', mod: true, alt: true, shift: true },
    scope: 'uncovered',
    enabled: () => oldestStep().length > 1,
    run: context => {
      const [oldest] = oldestStep()
      if (oldest) void import('./byKey').then(({ allowStep }) => allowStep(oldest, context))
    },
  },
  {
    id: 'denyOldest',
    label: 'denyOldest',
    keys: { code: 'Backspace', mod: true, alt: true },
    ...answerOldest('deny'),
  },
])
