import { ArrowDown, ArrowUp } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Report } from '@/api/types'
import { points } from '@/features/retrieval/words'
import { cn } from '@/lib/cn'
import { fixed, moment } from '@/lib/format'
import { locale, useLang, useT } from '@/lib/i18n'

/** The metrics of a run, compared with the previous run. */
export function Metrics({ report }: { report: Report }) {
  const t = useT()
  const lang = useLang()
  const { k, at, mode, recall_at_k: recall, mrr, latency_ms: latency, before } = report
  return (
    <section aria-label={t('lastRun')}>
      <dl className="grid grid-cols-2 gap-2 sm:grid-cols-4">
        <Metric name={t('metricRecall', { k })} hint={t('metricRecallHint', { k })} value={points(recall)}>
          {before && <Change by={recall - before.recall_at_k} />}
        </Metric>
        <Metric name={t('metricMrr')} hint={t('metricMrrHint')} value={points(mrr)}>
          {before && <Change by={mrr - before.mrr} />}
        </Metric>
        <Metric
          name={t('metricP50')}
          hint={t('metricP50Hint')}
          value={t('ms', { n: fixed(latency.p50, 1) })}
        />
        <Metric
          name={t('metricP95')}
          hint={t('metricP95Hint')}
          value={t('ms', { n: fixed(latency.p95, 1) })}
        />
      </dl>
      <p className="mt-1.5 text-fg-3 text-meta">
        {t('ranAt', {
          at: moment(at, locale(lang)),
          mode: mode === 'lexical' ? t('indexWordsOnly') : mode,
        })}
        {before && ` · ${t('ranBefore', { at: moment(before.at, locale(lang)) })}`}
      </p>
    </section>
  )
}

interface MetricProps {
  name: string
  hint: string
  value: string
  children?: ReactNode
}

function Metric({ name, hint, value, children }: MetricProps) {
  return (
    <div title={hint} className="rounded-lg border bg-card px-3 py-2">
      <dt className="text-fg-3 text-meta">{name}</dt>
      <dd className="flex items-baseline gap-2">
        <span className="font-semibold text-[17px] tabular-nums">{value}</span>
        {children}
      </dd>
    </div>
  )
}

/** A smaller difference counts as none. */
const SAME = 0.005

function Change({ by }: { by: number }) {
  const t = useT()
  if (Math.abs(by) < SAME) return <span className="text-fg-3 text-meta">{t('unchangedRun')}</span>
  const Icon = by > 0 ? ArrowUp : ArrowDown
  return (
    <span className={cn('flex items-center text-meta tabular-nums', by > 0 ? 'text-ok' : 'text-bad')}>
      <Icon size={11} aria-hidden />
      <span className="sr-only">{t(by > 0 ? 'better' : 'worse')} </span>
      {points(Math.abs(by))}
    </span>
  )
}
