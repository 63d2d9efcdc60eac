import { Download } from 'lucide-react'
import '@/lib/later'
import { useState } from 'react'
import { exportUsage } from '@/api/endpoints'
import { useProjects } from '@/api/projectQueries'
import { useUsage } from '@/api/queries'
import type { TokenStats } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { Dialog } from '@/components/ui/Dialog'
import { QueryError } from '@/components/ui/QueryError'
import { Segmented } from '@/components/ui/Segmented'
import { Pending } from '@/components/ui/Skeleton'
import { projectName } from '@/features/project/place'
import { download } from '@/lib/download'
import { count } from '@/lib/format'
import { useLang, useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { toast } from '@/stores/toasts'
import { OwnLimits } from './OwnLimits'
import { type Grouping, type Period, pointsOf, rowsOf } from './report'
import { UsageChart } from './UsageChart'
import { UsageLimits } from './UsageLimits'
import { UsageTable } from './UsageTable'
import { longDate } from './words'

const PERIODS = [
  { value: 'daily', word: 'usageDaily' },
  { value: 'weekly', word: 'usageWeekly' },
  { value: 'monthly', word: 'usageMonthly' },
] as const
const GROUPINGS = [
  { value: 'time', word: 'usageByTime' },
  { value: 'model', word: 'usageByModel' },
  { value: 'project', word: 'usageByProject' },
] as const
const FIRST = { time: 'usageDate', model: 'model', project: 'usageProject' } as const

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
}

/** Tokens as providers counted them, and what they cost: by day, week or month, by model and by project. */
export default function UsageDialog({ open, onOpenChange }: Props) {
  const t = useT()
  const [period, setPeriod] = useState<Period>('daily')
  const { data, error } = useUsage(period)
  const save = async () => {
    try {
      const { name, content } = await exportUsage(period)
      download(name, content)
    } catch (cause) {
      toast(t('notDone', { reason: reasonOf(cause) }), { tone: 'bad' })
    }
  }
  return (
    <Dialog size="widest" open={open} onOpenChange={onOpenChange} title={t('usage')}>
      <p className="mb-3 text-[13px] text-fg-2">{t('usageHint')}</p>
      <div className="mb-4 flex flex-wrap items-center gap-2">
        <Segmented
          label={t('usagePeriod')}
          value={period}
          options={PERIODS.map(({ value, word }) => ({ value, words: t(word) }))}
          onChange={setPeriod}
        />
        <Button className="ms-auto" onClick={save} disabled={!data?.works}>
          <Download size={15} aria-hidden />
          {t('usageCsv')}
        </Button>
      </div>
      {error ? <QueryError error={error} /> : !data ? <Pending /> : <Report stats={data} />}
    </Dialog>
  )
}

function Report({ stats }: { stats: TokenStats }) {
  const t = useT()
  const lang = useLang()
  const [by, setBy] = useState<Grouping>('time')
  const projects = useProjects().data
  const shown: Record<Grouping, (name: string) => string> = {
    time: name => longDate(name, stats.period, lang),
    model: name => name || t('usageUnnamed'),
    project: name => (name ? projectName(name, projects) : t('usageNoProject')),
  }
  const rows = rowsOf(stats.items, by).map(({ name, sum }) => ({ key: name, name: shown[by](name), sum }))
  return (
    <div className="space-y-5">
      {stats.limits.length > 0 && <UsageLimits limits={stats.limits} />}
      <OwnLimits limits={stats.limits} />
      {stats.works === 0 ? (
        <p className="text-[13px] text-fg-2">{t('usageNone')}</p>
      ) : (
        <>
          <UsageChart points={pointsOf(stats)} period={stats.period} />
          <div className="space-y-2">
            <div className="flex">
              <Segmented
                label={t('usageGrouping')}
                value={by}
                options={GROUPINGS.map(({ value, word }) => ({ value, words: t(word) }))}
                onChange={setBy}
              />
            </div>
            <UsageTable caption={t('usage')} first={t(FIRST[by])} rows={rows} total={stats} />
            {stats.estimated_tokens > 0 && (
              <p className="text-fg-3 text-meta">
                {t('usageEstimated', { n: count(stats.estimated_tokens) })}
              </p>
            )}
          </div>
        </>
      )}
    </div>
  )
}
