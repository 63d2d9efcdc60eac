import { Link } from 'wouter'
import type { Report, TestCase, TestResult } from '@/api/types'
import { Badge } from '@/components/ui/Badge'
import { playgroundHref } from '@/features/retrieval/address'
import { useT } from '@/lib/i18n'
import type { SearchFolder } from '@/lib/roots'

interface Props {
  cases: TestCase[]
  report: Report | null
  folder: SearchFolder
  k: number
}

/** Finds the result of a case. Line numbers change while a file is edited, so the question decides. */
const resultOf = (report: Report | null, { line, query }: TestCase): TestResult | undefined =>
  report?.results.find(result => result.line === line && result.query === query) ??
  report?.results.find(result => result.query === query)

/** Every case with its rank in the last run; each links to the playground with its question. */
export function TestCases({ cases, report, folder, k }: Props) {
  const t = useT()
  return (
    <ol aria-label={t('tabTests')} className="divide-y rounded-lg border bg-card">
      {cases.map(test => {
        const result = resultOf(report, test)
        const expected = result?.expected ?? [test.file, test.heading, test.text].filter(Boolean).join(' › ')
        return (
          <li key={test.line ?? test.query}>
            <Link
              href={playgroundHref({ query: test.query, folder, k })}
              className="flex items-start gap-3 px-3 py-2 hover:bg-hover"
            >
              <span className="w-6 shrink-0 pt-px text-end text-fg-3 text-meta tabular-nums">
                {test.line}
              </span>
              <span className="min-w-0 flex-1">
                <span className="block [overflow-wrap:anywhere]">{test.query}</span>
                <span className="block text-fg-3 text-meta [overflow-wrap:anywhere]">{expected}</span>
              </span>
              <Place result={result} k={report?.k ?? k} />
            </Link>
          </li>
        )
      })}
    </ol>
  )
}

function Place({ result, k }: { result: TestResult | undefined; k: number }) {
  const t = useT()
  if (!result) return <Badge>{t('notRun')}</Badge>
  if (result.rank == null) return <Badge tone="bad">{t('notFoundAtAll')}</Badge>
  return <Badge tone={result.rank <= k ? 'ok' : 'warn'}>{t('legPlace', { n: result.rank })}</Badge>
}
