import { cn } from '@/lib/cn'
import { compactCount } from '@/lib/format'
import { useT } from '@/lib/i18n'
import type { Day } from './days'

const PARTS = [
  { part: 'output', word: 'usageOutput', look: 'bg-rag' },
  { part: 'cached', word: 'usageCached', look: 'bg-ok' },
  { part: 'fresh', word: 'usageFresh', look: 'bg-accent' },
] as const

const totalOf = (day: Day): number => day.fresh + day.cached + day.output

/** A stacked bar for each day; the table has the same numbers. */
export function UsageChart({ days }: { days: readonly Day[] }) {
  const t = useT()
  const most = Math.max(1, ...days.map(totalOf))
  const [first, last] = [days[0], days.at(-1)]
  return (
    <figure role="img" aria-label={t('usageChart', { most })} className="space-y-1.5">
      <div aria-hidden className="flex items-baseline gap-3 text-fg-2 text-meta">
        {PARTS.toReversed().map(({ part, word, look }) => (
          <span key={part} className="flex items-center gap-1.5">
            <span className={cn('size-2.5 rounded-[3px]', look)} />
            {t(word)}
          </span>
        ))}
        <span className="ms-auto tabular-nums">{compactCount(most)}</span>
      </div>
      <div aria-hidden className="flex h-32 items-end gap-[2px] border-y">
        {days.map(day => (
          <div
            key={day.name}
            title={t('usageOfDay', {
              day: day.name,
              fresh: day.fresh,
              cached: day.cached,
              output: day.output,
            })}
            className="flex h-full min-w-0 flex-1 flex-col justify-end hover:bg-hover"
          >
            {PARTS.map(({ part, look }) => (
              <span key={part} className={look} style={{ height: `${(100 * day[part]) / most}%` }} />
            ))}
          </div>
        ))}
      </div>
      <div aria-hidden className="flex justify-between text-fg-3 text-meta tabular-nums">
        <span>{first?.name}</span>
        <span>{last?.name}</span>
      </div>
    </figure>
  )
}
