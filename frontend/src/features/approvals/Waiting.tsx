import { useApprovals } from '@/api/queries'
import type { Step } from '@/thread/model'
import { AllowStep } from './AllowStep'
import { ApprovalCard } from './ApprovalCard'
import { answer, tryOut } from './actions'
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
  const step = useAllowStep(workId, shown)
  return (
    <>
      {shown.map(approval => (
        <ApprovalCard
          key={approval.id}
          approval={approval}
          onAnswer={async given => {
            const problem = await answer(approval, given)
            if (problem === null) goOn(approval.id)
            return problem
          }}
          onTryOut={() => tryOut(approval)}
          takesFocus={waitsInComposer}
          answering={step.busy}
        />
      ))}
      {shown.length > 1 && <AllowStep count={shown.length} {...step} />}
    </>
  )
}
