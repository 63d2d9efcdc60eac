import { Unplug } from 'lucide-react'
import { useJobs } from '@/api/queries'
import { useCommandContext } from '@/app/commandContext'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { JobRow } from './JobRow'
import { goneWords } from './job'

interface Props {
  callId: string
  /** As the call has told it. The server counts from 1 again after each start, so the id alone does not name a job. */
  jobId: string
}

/** What became of the commands that a call started in the background. */
export default function JobOfCall({ callId, jobId }: Props) {
  const t = useT()
  const { sessionId } = useCommandContext()
  const { data: jobs, isFetching } = useJobs(sessionId)
  const job = jobs?.find(({ id, call_id }) => id === jobId && call_id === callId)
  // A list that was read before the job started does not have it.
  if (!sessionId || !jobs || (!job && isFetching)) return null
  return (
    <div className="ms-6 text-[13px]">
      {job ? (
        <JobRow sessionId={sessionId} job={job} fold={`job:${sessionId}:${callId}`} shows="state" />
      ) : (
        <p className="flex items-center gap-2 px-1.5 py-1 text-fg-2 text-small">
          <Unplug size={14} aria-hidden className="shrink-0 text-fg-3" />
          {goneWords(jobs, t)}
        </p>
      )}
    </div>
  )
}
