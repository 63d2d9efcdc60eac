import type { TokenLimit } from '@/api/types'
import { Meter } from '@/components/ui/Meter'
import { useLang, useT } from '@/lib/i18n'
import { money } from './words'

const LABELS = {
  server: { day: 'usageToday', month: 'usageThisMonth' },
  own: { day: 'ownLimitToday', month: 'ownLimitThisMonth' },
} as const

/** How much of each limit is used. */
export function UsageLimits({ limits }: { limits: readonly TokenLimit[] }) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      {limits.map(limit => (
        <Limit key={`${limit.set_by} ${limit.period}`} limit={limit} />
      ))}
    </div>
  )
}

function Limit({ limit }: { limit: TokenLimit }) {
  const { period, tokens, used_tokens, cost, used_cost } = limit
  const t = useT()
  const lang = useLang()
  const label = t(LABELS[limit.set_by === 'person' ? 'own' : 'server'][period === 'month' ? 'month' : 'day'])
  return (
    <>
      {typeof tokens === 'number' && (
        <LimitMeter
          label={label}
          value={used_tokens}
          max={tokens}
          text={t('usageOfTokens', { used: used_tokens, limit: tokens })}
        />
      )}
      {cost && used_cost && (
        <LimitMeter
          label={label}
          value={used_cost.amount}
          max={cost.amount}
          text={t('usageOfMoney', { used: money(used_cost, lang), limit: money(cost, lang) })}
        />
      )}
    </>
  )
}

function LimitMeter(meter: { label: string; value: number; max: number; text: string }) {
  return (
    <div className="space-y-1 text-small">
      <div className="flex flex-wrap justify-between gap-x-3">
        <span>{meter.label}</span>
        <span className="text-fg-2 tabular-nums">{meter.text}</span>
      </div>
      <Meter {...meter} />
    </div>
  )
}
