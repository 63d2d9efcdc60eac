import { TrendingDown, TrendingUp } from 'lucide-react'
import { Link } from 'wouter'
import type { Report, TestChange } from '@/api/types'
import { playgroundHref } from '@/features/retrieval/address'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import type { SearchFolder } from '@/lib/roots'

interface Props {
  report: Report
  folder: SearchFolder
}

/** The differences between a run and the previous one; regressions first. */
export function Changes({ report, folder }: Props) {
  const { worse, better } = report
  return (
    <>
      {worse.length > 0 && <Group report={report} folder={folder} changes={worse} tone="worse" />}
      {better.length > 0 && <Group report={report} folder={folder} changes={better} tone="better" />}
    </>
  )
}

interface GroupProps extends Props {
  changes: TestChange[]
  tone: 'worse' | 'better'
}

function Group({ report: { k }, folder, changes, tone }: GroupProps) {
  const t = useT()
  const Icon = tone === 'worse' ? TrendingDown : TrendingUp
  const name = t(tone === 'worse' ? 'gotWorse' : 'gotBetter', { n: changes.length })
  const place = (rank: number | null | undefined) =>
    rank == null ? t('notFoundAtAll') : t('legPlace', { n: rank })
  return (
    <section
      aria-label={name}
      className={cn(
        'rounded-lg border px-3 py-2',
        tone === 'worse' ? 'border-bad-line bg-bad-soft' : 'bg-card',
      )}
    >
      <h3
        className={cn(
          'flex items-center gap-1.5 font-semibold text-small',
          tone === 'worse' ? 'text-bad' : 'text-ok',
        )}
      >
        <Icon size={14} aria-hidden />
        {name}
      </h3>
      <ul className="mt-1 space-y-0.5">
        {changes.map(({ line, query, before, now }) => (
          <li key={line} className="flex flex-wrap items-baseline gap-x-3">
            <Link
              href={playgroundHref({ query, folder, k })}
              className="min-w-0 underline-offset-2 [overflow-wrap:anywhere] hover:underline"
            >
              {query}
            </Link>
            <span className="ms-auto text-fg-2 text-meta tabular-nums">
              {place(before)} → {place(now)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
