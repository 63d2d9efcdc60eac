/** Periods and amounts of money as people write them. */
import type { TokenSum } from '@/api/types'
import type { Translate } from '@/lib/i18n'
import { dayOf, type Period } from './report'

/** The year is left out where there is little room for it. */
export function shortDate(date: string, period: Period, lang: string): string {
  return dayOf(date).toLocaleDateString(
    lang,
    period === 'monthly' ? { month: 'short', year: '2-digit' } : { month: 'numeric', day: 'numeric' },
  )
}

export function longDate(date: string, period: Period, lang: string): string {
  return dayOf(date).toLocaleDateString(
    lang,
    period === 'monthly' ? { month: 'long', year: 'numeric' } : { dateStyle: 'medium' },
  )
}

/** Small amounts have more digits. */
export function money({ amount, currency }: { amount: number; currency: string }, lang: string): string {
  const digits = amount !== 0 && amount < 1 ? 4 : 2
  const style = {
    style: 'currency',
    currency,
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  } as const
  return new Intl.NumberFormat(lang, style).format(amount)
}

/** What tokens cost. A price that is not known is no price of 0. */
export function costOf({ costs, unpriced_tokens }: TokenSum, t: Translate, lang: string): string {
  const known = costs.map(cost => money(cost, lang)).join(' + ')
  if (known === '') return unpriced_tokens > 0 ? t('usageCostUnknown') : '–'
  return unpriced_tokens > 0 ? t('usageCostPartly', { known }) : known
}
