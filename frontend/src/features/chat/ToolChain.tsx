import { Wrench } from 'lucide-react'
import type { InputProgress } from '@/api/types'
import { onDemand } from '@/components/onDemand'
import { Disclosure } from '@/components/ui/Disclosure'
import { duration } from '@/lib/format'
import { useT } from '@/lib/i18n'
import { useMounted } from '@/lib/mounted'
import { useFold } from '@/stores/folds'
import type { Step } from '@/thread/model'
import { chainWords } from './chainWords'
import { chains } from './messageActions'
import { InputStep, ToolStep } from './ToolStep'
import { rendererOfTool } from './tools'
import { Verdict } from './Verdict'

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
      <Refused {...props} />
      {steps.some(step => step.status === 'approval') && <Waiting workId={workId} steps={steps} />}
    </>
  )
}

const isRefused = ({ status, verdict }: Step): boolean =>
  status === 'denied' || verdict?.decision === 'expired' || verdict?.decision === 'cancelled'

/** The calls that did not run because of a decision, with its reason: visible even if the chain is folded. */
function Refused({ id, steps, running }: Props) {
  const t = useT()
  const refused = steps.filter(isRefused)
  const [open] = useFold(id, isOpenAtFirst(steps, running))
  if (open || refused.length === 0) return null
  return (
    <ul aria-label={t('callsNotRun')} className="space-y-1 px-3 text-[13px]">
      {refused.map(step => (
        <li key={step.id} className="flex flex-wrap items-center gap-x-2">
          <code className="shrink-0 font-mono text-[12px]">{step.tool}</code>
          <span className="max-w-full truncate font-mono text-[12px] text-fg-3">
            {rendererOfTool(step.tool).summary(step).replace(/\s+/g, ' ')}
          </span>
          {step.verdict ? (
            <Verdict verdict={step.verdict} />
          ) : (
            <span className="text-fg-2 text-small">{t('deniedByPolicy')}</span>
          )}
        </li>
      ))}
    </ul>
  )
}

/** Afterwards it collapses, unless a step failed. */
const isOpenAtFirst = (steps: readonly Step[], running: boolean): boolean =>
  running || steps.some(step => step.status === 'error')

function Chain({ id, steps, running, writing }: Props) {
  const t = useT()
  const failed = steps.filter(step => step.status === 'error').length
  const [open, setOpen] = useFold(id, isOpenAtFirst(steps, running))
  useMounted(chains, id, { open, setOpen })
  const total = steps.reduce((sum, step) => sum + (step.durationMs ?? 0), 0)
  const did = open ? null : chainWords(steps, t)
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
          <span className="min-w-0 truncate font-medium">
            {active ? t('chainRunning') : did || t('chain')}
          </span>
          <span className="me-auto shrink-0 text-fg-3 tabular-nums">
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
