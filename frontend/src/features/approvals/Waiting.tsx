import type { Answer } from '@/api/approvals'
import { useApprovals } from '@/api/queries'
import type { Approval } from '@/api/types'
import type { Step } from '@/thread/model'
import { AllowStep } from './AllowStep'
import { ApprovalCard } from './ApprovalCard'
import { answer, tryOut } from './actions'
import { ElicitationCard } from './ElicitationCard'
import { goOn } from './goOn'
import { useAllowStep } from './step'

interface Props {
  workId: string
  steps: readonly Step[]
}

/** Whether the focus is in an empty message box: that person waits for the card. */
function waitsInComposer(): boolean {
  const focused = document.activeElement
  return focused instanceof HTMLTextAreaElement && focused.matches('[data-composer]') && focused.value === ''
}

/** The cards of a chain's pending calls, in the order of the calls. */
export default function Waiting({ workId, steps }: Props) {
  const approvals = useApprovals().data ?? []
  const open = steps.flatMap(step => (step.status === 'approval' ? [step.id] : []))
  const shown = approvals
    .filter(approval => approval.work_id === workId && open.includes(approval.call_id))
    .sort((a, b) => open.indexOf(a.call_id) - open.indexOf(b.call_id))
  const calls = shown.filter(({ shown }) => !shown.elicitation)
  const step = useAllowStep(workId, calls)
  const give = async (approval: Approval, given: Answer) => {
    const problem = await answer(approval, given)
    if (problem === null) goOn(approval.id)
    return problem
  }
  return (
    <>
      {shown.map(approval =>
        approval.shown.elicitation ? (
          <ElicitationCard
            key={approval.id}
            approval={approval}
            asked={approval.shown.elicitation}
            onAnswer={given => give(approval, given)}
            takesFocus={waitsInComposer}
          />
        ) : (
          <ApprovalCard
            key={approval.id}
            approval={approval}
            onAnswer={given => give(approval, given)}
            onTryOut={() => tryOut(approval)}
            takesFocus={waitsInComposer}
            answering={step.busy}
          />
        ),
      )}
      {calls.length > 1 && <AllowStep count={calls.length} {...step} />}
    </>
  )
}
