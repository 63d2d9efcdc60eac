import { Wrench } from 'lucide-react'
import type { InputProgress } from '@/api/types'
import { onDemand } from '@/components/onDemand'
import { Disclosure } from '@/components/ui/Disclosure'
import { duration } from '@/lib/format'
import { useT } from '@/lib/i18n'
import { useMounted } from '@/lib/mounted'
import { useFold } from '@/stores/folds'
import type { Step } from '@/thread/model'
import { chains } from './messageActions'
import { InputStep, ToolStep } from './ToolStep'

const Waiting = onDemand(() => import('@/features/approvals/Waiting'))

interface Props {
  id: string
  workId: string
  steps: Step[]
  /** The work is running: the chain stays open. Afterwards it collapses, unless a step failed. */
  running: boolean
  /** The next call, while the model is still writing it. */
  writing: InputProgress | null
}

export function ToolChain(props: Props) {
  const { workId, steps } = props
  return (
    <>
      <Chain {...props} />
      {steps.some(step => step.status === 'approval') && <Waiting workId={workId} steps={steps} />}
    </>
  )
}

function Chain({ id, steps, running, writing }: Props) {
  const t = useT()
  const failed = steps.filter(step => step.status === 'error').length
  const [open, setOpen] = useFold(id, running || failed > 0)
  useMounted(chains, id, { open, setOpen })
  const total = steps.reduce((sum, step) => sum + (step.durationMs ?? 0), 0)
  const active = writing !== null || steps.some(step => step.status === 'running')
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      className="chain rounded-lg border bg-pane-2 text-[13px]"
      summaryClass="rounded-lg px-3 py-2 text-fg-2 hover:bg-hover"
      summary={
        <>
          <Wrench size={14} aria-hidden />
          <span className="font-medium">{t(active ? 'chainRunning' : 'chain')}</span>
          <span className="me-auto text-fg-3 tabular-nums">
            {t('steps', { n: steps.length + (writing ? 1 : 0) })}
            {total > 0 && ` · ${duration(total)}`}
            {failed > 0 && <span className="text-bad"> · {t('stepFailed', { n: failed })}</span>}
          </span>
        </>
      }
    >
      <ol className="space-y-0.5 px-2 pb-2">
        {steps.map(step => (
          <li key={step.id}>
            <ToolStep id={`${id}:${step.id}`} step={step} />
          </li>
        ))}
        {writing && (
          <li>
            <InputStep {...writing} />
          </li>
        )}
      </ol>
    </Disclosure>
  )
}
