import { Check, CircleStop, CircleX } from 'lucide-react'
import { useLayoutEffect, useRef, useState } from 'react'
import { useJobs } from '@/api/queries'
import type { BackgroundJob } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { Disclosure } from '@/components/ui/Disclosure'
import { Visible } from '@/components/Visible'
import { Elapsed } from '@/features/chat/Elapsed'
import { duration } from '@/lib/format'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { useFold } from '@/stores/folds'
import { isRunning, jobWords, stopJob } from './job'

interface Props {
  sessionId: string
  job: BackgroundJob
  /** The key for whether its output is shown. */
  fold: string
  /** `state`: below the call that started it, which shows the command. */
  shows: 'command' | 'state'
  /** Called when the button that had the focus is gone. */
  onLeave?: () => void
}

/** A command in the background: its state, how long it has been running, a button to stop it, and its output on demand. */
export function JobRow({ sessionId, job, fold, shows, onLeave }: Props) {
  const t = useT()
  const [open, setOpen] = useFold(fold, false)
  const [stopping, setStopping] = useState(false)
  const running = isRunning(job)
  const onStop = async () => {
    setStopping(true)
    await stopJob(sessionId, job.id)
    setStopping(false)
    onLeave?.()
  }
  return (
    <div className="flex items-start gap-1" data-job={job.id}>
      <Disclosure
        open={open}
        onToggle={setOpen}
        className="min-w-0 flex-1"
        summaryClass="rounded-md px-1.5 py-1 hover:bg-hover"
        summary={
          <>
            <StateIcon job={job} />
            {shows === 'command' && (
              <span className="min-w-0 flex-1 truncate font-mono text-[12px]">
                <Visible text={job.command.replace(/\s+/g, ' ')} />
              </span>
            )}
            <span
              className={shows === 'command' ? 'sr-only' : 'min-w-0 flex-1 truncate text-small text-fg-2'}
            >
              {jobWords(job, t)}
            </span>
            {running ? (
              <Elapsed since={job.started_at} />
            ) : (
              <span className="shrink-0 text-fg-3 text-meta tabular-nums">{duration(job.duration_ms)}</span>
            )}
          </>
        }
      >
        {shows === 'command' && (
          <pre className="scroll plain ms-6 me-1 mt-1 max-h-24 whitespace-pre-wrap text-fg-2 [overflow-wrap:anywhere]">
            <Visible text={job.command} />
          </pre>
        )}
        <JobOutput sessionId={sessionId} job={job} />
      </Disclosure>
      {running && (
        <Button
          size="small"
          aria-label={t('stopJob', { command: job.command })}
          disabled={stopping}
          onClick={() => void onStop()}
        >
          {t(stopping ? 'jobStopping' : 'stop')}
        </Button>
      )}
    </div>
  )
}

function StateIcon({ job }: { job: BackgroundJob }) {
  if (isRunning(job))
    return (
      <span
        aria-hidden
        className="block size-3.5 shrink-0 rounded-full border-2 border-accent border-t-transparent spin"
      />
    )
  if (job.code == null) return <Check size={14} aria-hidden className="shrink-0 text-ok" />
  return job.code === 'stopped' ? (
    <CircleStop size={14} aria-hidden className="shrink-0 text-fg-3" />
  ) : (
    <CircleX size={14} aria-hidden className="shrink-0 text-bad" />
  )
}

/** The end of the output. It is read again each second while the command runs and the page is in view. */
function JobOutput({ sessionId, job: { output, truncated } }: Pick<Props, 'sessionId' | 'job'>) {
  const t = useT()
  const box = useRef<HTMLPreElement>(null)
  useJobs(sessionId, 'watched')
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each change of the output
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight
  }, [output])
  return (
    <div className="ms-6 me-1 my-1">
      {truncated && <p className="pb-1 text-fg-3 text-meta">{t('jobTruncated')}</p>}
      <pre
        ref={box}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={t('liveOutput')}
        className="scroll plain max-h-40 whitespace-pre-wrap rounded-md border bg-code p-2.5 [overflow-wrap:anywhere]"
      >
        {output || <span className="text-fg-3">{t('noOutput')}</span>}
      </pre>
    </div>
  )
}
