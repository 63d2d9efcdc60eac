/** Commands that run in the background of a conversation. */
import * as api from '@/api/endpoints'
import { keys, patchJob } from '@/api/queries'
import type { BackgroundJob } from '@/api/types'
import { attempt } from '@/app/threads'
import type { Translate } from '@/lib/i18n'
import '@/lib/later'

/** The server remembers so many of a conversation; the oldest that has ended makes room for a new one. */
const REMEMBERED = 16

export const isRunning = (job: BackgroundJob): boolean => job.state === 'running'

/** What became of a job, or that it is running. */
export function jobWords({ state, code, exit_code: exit, outcome }: BackgroundJob, t: Translate): string {
  if (state === 'running') return t('jobRunning')
  switch (code) {
    case 'stopped':
      return t('jobStopped')
    case 'timeout':
      return t('jobTimeout')
    case 'signal':
      return t('jobKilled')
    case 'no_folder':
    case 'blocked':
    case 'not_started':
      return t('jobNotRun')
    default:
      return exit == null ? (outcome ?? '') : t('exitCode', { code: exit })
  }
}

/** What is said of a job that the server no longer lists. */
export const goneWords = (jobs: readonly BackgroundJob[], t: Translate): string =>
  t(jobs.length < REMEMBERED ? 'jobEndedWithServer' : 'jobForgotten')

/** Stops a command with everything that it has started. */
export async function stopJob(session: string, job: string): Promise<void> {
  await attempt(async () => patchJob(keys.jobs(session), await api.stopJob(session, job)))
}
