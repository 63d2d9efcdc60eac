import { expect, test } from 'vitest'
import type { BackgroundJob } from '@/api/types'
import { goneWords, jobWords } from '@/features/jobs/job'
import { t } from '@/lib/i18n'

const job: BackgroundJob = {
  id: 'job1',
  call_id: 'c1',
  command: 'make',
  state: 'ended',
  started_at: 1,
  duration_ms: 5,
  outcome: 'exit code 0',
  code: null,
  exit_code: 0,
  output: '',
  truncated: false,
}

test.each<[Partial<BackgroundJob>, string]>([
  [{}, 'exit code 0'],
  [{ code: 'exit_code', exit_code: 3 }, 'exit code 3'],
  [{ code: 'unknown_command', exit_code: 127 }, 'exit code 127'],
  [{ code: 'stopped', exit_code: null }, 'Stopped'],
  [{ code: 'timeout', exit_code: null }, 'Stopped at its time limit'],
  [{ code: 'signal', exit_code: null }, 'Ended by a signal'],
  [{ code: 'blocked', exit_code: 1 }, 'Not started'],
  [{ code: 'newer', exit_code: null, outcome: 'as the server says' }, 'as the server says'],
  [{ state: 'running', outcome: null, exit_code: null }, 'Running in the background'],
])('the end of a job with %o has words', (over, words) => {
  expect(jobWords({ ...job, ...over }, t)).toBe(words)
})

test('a job that is not listed ended with the server, unless newer ones have taken its place', () => {
  expect(goneWords([job], t)).toMatch(/^Ended when the server stopped/)
  expect(goneWords(Array(16).fill(job), t)).toBe('Ended; its output is no longer kept')
})
