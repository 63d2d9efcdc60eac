import { SquareTerminal } from 'lucide-react'
import type { BackgroundJob } from '@/api/types'
import { Disclosure } from '@/components/ui/Disclosure'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { useFold } from '@/stores/folds'
import { JobRow } from './JobRow'

interface Props {
  sessionId: string
  /** Those that are running. */
  jobs: readonly BackgroundJob[]
  /** Called when the button that had the focus is gone. */
  onLeave: () => void
}

/** The commands that are running in the background, above the composer: one line, which expands to the list. */
export default function RunningJobs({ sessionId, jobs, onLeave }: Props) {
  const t = useT()
  const [open, setOpen] = useFold(`jobs:${sessionId}`, false)
  return (
    <section
      aria-label={t('jobList')}
      className="mx-auto w-full max-w-[760px] px-4 pb-1.5 max-md:px-2"
      data-jobs={jobs.length}
    >
      <Disclosure
        open={open}
        onToggle={setOpen}
        className="rounded-lg border bg-card text-[13px]"
        summaryClass="rounded-lg px-3 py-1.5 hover:bg-hover"
        summary={
          <>
            <SquareTerminal size={14} aria-hidden className="shrink-0 text-accent" />
            <span role="status" className="min-w-0 flex-1 truncate">
              {t('jobsRunning', { n: jobs.length })}
            </span>
          </>
        }
      >
        <ul className="scroll max-h-[40dvh] space-y-0.5 overflow-y-auto px-1.5 pb-1.5">
          {jobs.map(job => (
            <li key={job.id}>
              <JobRow
                sessionId={sessionId}
                job={job}
                fold={`running:${sessionId}:${job.call_id}`}
                shows="command"
                onLeave={onLeave}
              />
            </li>
          ))}
        </ul>
      </Disclosure>
    </section>
  )
}
