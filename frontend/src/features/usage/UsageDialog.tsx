import { QueryError } from '@/components/ui/QueryError'
import '@/lib/later'
import { useState } from 'react'
import { useUsage } from '@/api/queries'
import type { UsageOf } from '@/api/types'
import { Dialog } from '@/components/ui/Dialog'
import { Disclosure } from '@/components/ui/Disclosure'
import { Pending } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { lastDays } from './days'
import { UsageChart } from './UsageChart'
import { UsageTable } from './UsageTable'

const DAYS = 30

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
}

/** Tokens as providers counted them: by day, and by model. */
export default function UsageDialog({ open, onOpenChange }: Props) {
  const t = useT()
  const { data, error } = useUsage()
  const [table, setTable] = useState(false)
  return (
    <Dialog size="wide" open={open} onOpenChange={onOpenChange} title={t('usage')}>
      <p className="mb-3 text-[13px] text-fg-2">{t('usageHint')}</p>
      {error ? (
        <QueryError error={error} />
      ) : !data ? (
        <Pending />
      ) : data.days.length === 0 ? (
        <p className="text-[13px] text-fg-2">{t('usageNone')}</p>
      ) : (
        <div className="space-y-4">
          <UsageChart days={lastDays(data.days, new Date(), DAYS)} />
          <UsageTable
            caption={t('usageByModel')}
            first={t('model')}
            rows={data.models}
            total={sum(data.days)}
          />
          <Disclosure
            open={table}
            onToggle={setTable}
            summary={t('usageAsTable')}
            summaryClass="w-fit rounded-md py-1 text-accent text-small"
          >
            <UsageTable
              caption={t('usageByDay')}
              first={t('usageDay')}
              rows={data.days.toReversed()}
              total={null}
            />
          </Disclosure>
        </div>
      )}
    </Dialog>
  )
}

function sum(days: readonly UsageOf[]): UsageOf {
  const of = (read: (day: UsageOf) => number) => days.reduce((all, day) => all + read(day), 0)
  return {
    name: '',
    works: of(day => day.works),
    usage: {
      input_tokens: of(day => day.usage.input_tokens),
      cached_tokens: of(day => day.usage.cached_tokens ?? 0),
      output_tokens: of(day => day.usage.output_tokens),
    },
  }
}
