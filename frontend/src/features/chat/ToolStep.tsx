import { Ban, Check, CircleX, Pencil, ShieldQuestion, ShieldX, Unplug } from 'lucide-react'
import type { ReactNode } from 'react'
import type { InputProgress } from '@/api/types'
import { onDemand } from '@/components/onDemand'
import { Badge } from '@/components/ui/Badge'
import { Disclosure } from '@/components/ui/Disclosure'
import { duration, kilobytes } from '@/lib/format'
import { type Key, type Translate, useT } from '@/lib/i18n'
import { useFold } from '@/stores/folds'
import type { Step, StepStatus } from '@/thread/model'
import { Elapsed } from './Elapsed'
import { arrivedAt } from './Times'
import { rendererOfTool } from './tools'
import { Verdict } from './Verdict'

const Elicited = onDemand(() => import('./Elicited'))
const JobOfCall = onDemand(() => import('@/features/jobs/JobOfCall'))
const LiveOutput = onDemand(() => import('./LiveOutput'))

const STATE: Record<StepStatus, { word: Key; icon: ReactNode }> = {
  running: {
    word: 'stepRunning',
    icon: (
      <span
        aria-hidden
        className="block size-3.5 rounded-full border-2 border-accent border-t-transparent spin"
      />
    ),
  },
  done: { word: 'stepDone', icon: <Check size={14} aria-hidden className="text-ok" /> },
  error: { word: 'stepError', icon: <CircleX size={14} aria-hidden className="text-bad" /> },
  cancelled: { word: 'stepCancelled', icon: <Ban size={14} aria-hidden className="text-fg-3" /> },
  approval: { word: 'stepApproval', icon: <ShieldQuestion size={14} aria-hidden className="text-warn" /> },
  denied: { word: 'stepDenied', icon: <ShieldX size={14} aria-hidden className="text-bad" /> },
  interrupted: { word: 'stepInterrupted', icon: <Unplug size={14} aria-hidden className="text-warn" /> },
}

/** What a step is doing, in words: one that waits says for whom. */
const wordsOf = ({ status, asking }: Step, t: Translate): string =>
  status === 'approval' && asking ? t('stepAsking', { server: asking }) : t(STATE[status].word)

const isOpen = ({ status }: Step): boolean => status === 'running' || status === 'approval'

export function ToolStep({ id, step }: { id: string; step: Step }) {
  const t = useT()
  const [open, setOpen] = useFold(id, false)
  const { icon } = STATE[step.status]
  const words = wordsOf(step, t)
  const { title, summary, failed, job, Details } = rendererOfTool(step.tool)
  const heading = title?.(step, t) ?? null
  const failures = failed?.(step) ?? []
  const jobId = job?.(step) ?? null
  const since = step.status === 'running' ? arrivedAt(id, step.startedAt ?? null) : null
  return (
    <>
      <Disclosure
        open={open}
        onToggle={setOpen}
        summaryClass="rounded-md px-1.5 py-1 hover:bg-hover pointer-coarse:py-2"
        summary={
          <>
            <span className="shrink-0" title={words}>
              {icon}
              <span className="sr-only">{words}</span>
            </span>
            {heading === null ? (
              <code className="shrink-0 font-mono text-[12px]">{step.tool}</code>
            ) : (
              <span title={step.tool} className="max-w-[70%] shrink-0 truncate">
                {heading}
              </span>
            )}
            <span className="min-w-0 flex-1 truncate font-mono text-[12px] text-fg-3">
              {summary(step).replace(/\s+/g, ' ')}
            </span>
            <StateBadge step={step} />
            {since !== null && <Elapsed since={since} />}
            {step.durationMs !== null && (
              <span className="shrink-0 text-fg-3 text-meta tabular-nums">{duration(step.durationMs)}</span>
            )}
          </>
        }
      >
        <div className="ms-6 me-1 my-1 space-y-2">
          <Verdict verdict={step.verdict} />
          {step.elicited && <Elicited answers={step.elicited} />}
          <Details id={id} step={step} />
        </div>
      </Disclosure>
      {!open && failures.length > 0 && (
        <p className="truncate ps-8 pe-1.5 pb-0.5 font-mono text-[12px] text-bad">
          {t('callFailed', { n: failures.length, names: failures.map(({ name }) => name).join(', ') })}
        </p>
      )}
      {isOpen(step) && step.output !== '' && <LiveOutput output={step.output} />}
      {jobId !== null && <JobOfCall callId={step.id} jobId={jobId} />}
    </>
  )
}

/** A call whose input the model is still writing: it cannot be expanded yet. */
export function InputStep({ tool, bytes }: InputProgress) {
  const t = useT()
  return (
    <p className="flex items-center gap-2 px-1.5 py-1 text-fg-3 pointer-coarse:py-2">
      <Pencil size={14} aria-hidden className="shrink-0 text-accent" />
      <code className="min-w-0 truncate font-mono text-[12px] text-fg">{tool}</code>
      <span className="shrink-0 text-[12px]">{t('writingInput')}</span>
      <span className="ms-auto shrink-0 text-meta tabular-nums">{kilobytes(bytes)}</span>
    </p>
  )
}

/** A badge for the states that a person caused or has to resolve. */
function StateBadge({ step }: { step: Step }) {
  const t = useT()
  const { status, verdict } = step
  if (status === 'approval') return <Badge tone="warn">{wordsOf(step, t)}</Badge>
  if (verdict?.decision === 'expired') return <Badge>{t('expired')}</Badge>
  if (status === 'denied') return <Badge tone="bad">{t('stepDenied')}</Badge>
  return status === 'cancelled' ? <Badge>{t('stepCancelled')}</Badge> : null
}
