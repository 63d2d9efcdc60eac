import { useApprovals } from '@/api/queries'
import type { Step } from '@/thread/model'
import { ApprovalCard } from './ApprovalCard'
import { answer } from './actions'

interface Props {
  workId: string
  steps: readonly Step[]
}

/** Whether the focus is in an empty message box: that person waits for the card. */
function waitsInComposer(): boolean {
  const focused = document.activeElement
  return focused instanceof HTMLTextAreaElement && focused.matches('[data-composer]') && focused.value === ''
}

/** The cards of a chain's pending calls. */
export default function Waiting({ workId, steps }: Props) {
  const approvals = useApprovals().data ?? []
  const open = new Set(steps.flatMap(step => (step.status === 'approval' ? [step.id] : [])))
  return approvals
    .filter(approval => approval.work_id === workId && open.has(approval.call_id))
    .map(approval => (
      <ApprovalCard
        key={approval.id}
        approval={approval}
        onAnswer={given => answer(approval, given)}
        takesFocus={waitsInComposer}
      />
    ))
}
