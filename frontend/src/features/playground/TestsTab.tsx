import { Play } from 'lucide-react'
import { useTests } from '@/api/queries'
import { PassageLink } from '@/components/PassageLink'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { Spinner } from '@/components/ui/Spinner'
import { useSay, useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import type { SearchFolder } from '@/lib/roots'
import { badTestIn } from '@/lib/server'
import { Changes } from './Changes'
import { Metrics } from './Metrics'
import { Notice } from './states'
import { TestCases } from './TestCases'
import { useRunTests } from './useRunTests'

interface Props {
  folder: SearchFolder
  k: number
}

/**
 * Questions with a known answer passage: how often it is among the first hits, and what changed since the previous
 * run.
 */
export function TestsTab({ folder, k }: Props) {
  const t = useT()
  const say = useSay()
  const tests = useTests(folder)
  const run = useRunTests(folder, k)
  if (tests.error) return <QueryError error={tests.error} onRetry={() => void tests.refetch()} />
  if (!tests.data) return <Skeleton label={t('loading')} rows={6} />
  const { path, cases, problems, last } = tests.data
  const empty = cases.length === 0 && problems.length === 0
  return (
    <div className="scroll min-h-0 flex-1 space-y-4 px-3 py-3 text-[13px]">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        {empty ? (
          <span className="font-mono text-[12px] text-fg-3">{path}</span>
        ) : (
          <PassageLink
            place={{ path, lines: null }}
            className="font-mono text-[12px] text-accent underline underline-offset-2"
          >
            {path}
          </PassageLink>
        )}
        <span className="me-auto text-fg-3 text-meta tabular-nums">
          {t('testCases', { n: cases.length })}
        </span>
        <Button look="solid" disabled={cases.length === 0 || run.isPending} onClick={() => run.mutate()}>
          {run.isPending ? <Spinner /> : <Play size={13} aria-hidden />}
          {t(run.isPending ? 'testsRunning' : 'testsRun')}
        </Button>
      </div>
      {run.error && <ErrorText>{t('notDone', { reason: reasonOf(run.error) })}</ErrorText>}
      {problems.length > 0 && (
        <section
          aria-label={t('testProblems')}
          className="rounded-lg border border-warn-line bg-warn-soft px-3 py-2"
        >
          <h3 className="font-semibold text-small text-warn">{t('testProblems')}</h3>
          <ul className="text-fg-2 text-small">
            {problems.map(problem => (
              <li key={problem.line}>
                <PassageLink
                  place={{ path, lines: [problem.line, problem.line] }}
                  className="underline underline-offset-2"
                >
                  {t('line', { a: `${problem.line}` })}
                </PassageLink>
                {': '}
                {badTestIn(say, problem)}
              </li>
            ))}
          </ul>
        </section>
      )}
      {empty && <Notice>{t('testsEmpty')}</Notice>}
      {last && <Metrics report={last} />}
      {last && <Changes report={last} folder={folder} />}
      {cases.length > 0 && <TestCases cases={cases} report={last ?? null} folder={folder} k={k} />}
    </div>
  )
}
