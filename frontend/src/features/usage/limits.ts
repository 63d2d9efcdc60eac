/** The limits of a person as they are typed, and as the server has them. */
import type { PersonLimits, TokenLimit } from '@/api/types'

export interface TypedLimits {
  dayTokens: string
  dayCost: string
  monthTokens: string
  monthCost: string
  currency: string
}

type Period = NonNullable<PersonLimits['day']>

const written = (n: number | null | undefined): string => (n == null ? '' : String(n))

export function typedOf(limits: PersonLimits | null | undefined): TypedLimits {
  const { day, month } = limits ?? {}
  return {
    dayTokens: written(day?.tokens),
    dayCost: written(day?.cost),
    monthTokens: written(month?.tokens),
    monthCost: written(month?.cost),
    currency: month?.currency ?? day?.currency ?? 'USD',
  }
}

/** A number of 0 or more; null for an empty field, undefined for anything else. */
function numberOf(text: string, whole: boolean): number | null | undefined {
  if (text.trim() === '') return null
  const n = Number(text.trim().replace(/[\s_]/g, ''))
  return n >= 0 && (whole ? Number.isSafeInteger(n) : Number.isFinite(n)) ? n : undefined
}

function periodOf(tokens: string, cost: string, currency: string): Period | null | undefined {
  const [most, amount] = [numberOf(tokens, true), numberOf(cost, false)]
  if (most === undefined || amount === undefined) return undefined
  if (most === null && amount === null) return null
  return { tokens: most, cost: amount, currency: amount === null ? null : currency }
}

const WHOLE: readonly (keyof TypedLimits)[] = ['dayTokens', 'monthTokens']
const AMOUNTS: readonly (keyof TypedLimits)[] = ['dayCost', 'monthCost']

/** The first field whose text is no limit; null if there is none. */
export function wrongField(typed: TypedLimits): keyof TypedLimits | null {
  const wrong = (whole: boolean) => (name: keyof TypedLimits) => numberOf(typed[name], whole) === undefined
  const amount = AMOUNTS.find(wrong(false))
  const isCurrency = /^[A-Z]{3}$/i.test(typed.currency.trim())
  const needsCurrency = AMOUNTS.some(name => typed[name].trim() !== '')
  return WHOLE.find(wrong(true)) ?? amount ?? (needsCurrency && !isCurrency ? 'currency' : null)
}

/** Returns null if something that was typed is no limit. */
export function limitsOf(typed: TypedLimits): PersonLimits | null {
  const currency = typed.currency.trim().toUpperCase()
  const day = periodOf(typed.dayTokens, typed.dayCost, currency)
  const month = periodOf(typed.monthTokens, typed.monthCost, currency)
  if (day === undefined || month === undefined) return null
  return { day, month }
}

/** Returns the limits that the person has set for themselves; null if there are none. */
export function ownOf(limits: readonly TokenLimit[]): PersonLimits | null {
  const own = limits.filter(limit => limit.set_by === 'person')
  const of = (period: string): Period | null => {
    const limit = own.find(limit => limit.period === period)
    return limit
      ? {
          tokens: limit.tokens ?? null,
          cost: limit.cost?.amount ?? null,
          currency: limit.cost?.currency ?? null,
        }
      : null
  }
  return own.length === 0 ? null : { day: of('day'), month: of('month') }
}
