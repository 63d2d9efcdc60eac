/** What the report of the server says, arranged for the chart and the tables. */
import type { TokenItem, TokenStats, TokenSum } from '@/api/types'

export type Period = TokenStats['period']
/** What the rows of the table are. */
export type Grouping = 'time' | 'model' | 'project'

export interface Row {
  /** The first day of a period, a model or a project; empty if the server does not know it. */
  name: string
  sum: TokenSum
}

const nothing = (): TokenSum => ({
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  cached_tokens: 0,
  thinking_tokens: 0,
  estimated_tokens: 0,
  works: 0,
  costs: [],
  unpriced_tokens: 0,
})

function plus(one: TokenSum, other: TokenSum): TokenSum {
  const costs = new Map(one.costs.map(cost => [cost.currency, cost.amount]))
  for (const { currency, amount } of other.costs) costs.set(currency, (costs.get(currency) ?? 0) + amount)
  return {
    prompt_tokens: one.prompt_tokens + other.prompt_tokens,
    completion_tokens: one.completion_tokens + other.completion_tokens,
    total_tokens: one.total_tokens + other.total_tokens,
    cached_tokens: one.cached_tokens + other.cached_tokens,
    thinking_tokens: one.thinking_tokens + other.thinking_tokens,
    estimated_tokens: one.estimated_tokens + other.estimated_tokens,
    works: one.works + other.works,
    costs: [...costs].map(([currency, amount]) => ({ currency, amount })),
    unpriced_tokens: one.unpriced_tokens + other.unpriced_tokens,
  }
}

const NAME: Record<Grouping, (item: TokenItem) => string> = {
  time: item => item.date,
  model: item => item.model,
  project: item => item.project_id ?? '',
}

/** The rows of the table: periods latest first, models and projects with most tokens first. */
export function rowsOf(items: readonly TokenItem[], by: Grouping): Row[] {
  const sums = new Map<string, TokenSum>()
  for (const item of items) {
    const name = NAME[by](item)
    sums.set(name, plus(sums.get(name) ?? nothing(), item))
  }
  const rows = [...sums].map(([name, sum]) => ({ name, sum }))
  return by === 'time'
    ? rows.sort((a, b) => b.name.localeCompare(a.name))
    : rows.sort((a, b) => b.sum.total_tokens - a.sum.total_tokens)
}

/** A day such as `2026-11-22`, at noon: a day has 23 or 25 hours when clocks change. */
export function dayOf(date: string): Date {
  const [year = 1970, month = 1, day = 1] = date.split('-').map(Number)
  return new Date(year, month - 1, day, 12)
}

const nameOf = (at: Date): string =>
  [at.getFullYear(), at.getMonth() + 1, at.getDate()].map(n => String(n).padStart(2, '0')).join('-')

function next(date: string, period: Period): string {
  const at = dayOf(date)
  if (period === 'monthly') at.setMonth(at.getMonth() + 1)
  else at.setDate(at.getDate() + (period === 'weekly' ? 7 : 1))
  return nameOf(at)
}

/** More periods than any report has. */
const MOST_POINTS = 1000

/** All periods of the report, earliest first, those without usage included. */
export function pointsOf({ items, period, from, to }: TokenStats): Row[] {
  const known = new Map(rowsOf(items, 'time').map(row => [row.name, row]))
  const points: Row[] = []
  for (let date = from; date <= to && points.length < MOST_POINTS; date = next(date, period))
    points.push(known.get(date) ?? { name: date, sum: nothing() })
  return points
}

/** Round values for the axis from 0 up; the last one is at least `most`. */
export function ticksOf(most: number): number[] {
  const rough = Math.max(1, most / 3)
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= rough) ?? rough
  return Array.from({ length: Math.max(2, Math.ceil(most / step) + 1) }, (_, n) => n * step)
}

/** Places of at most `most` labels among `count` points, the last point included. */
export function labelledPoints(count: number, most: number): number[] {
  const step = Math.max(1, Math.ceil(count / most))
  return Array.from({ length: count }, (_, n) => n).filter(n => (count - 1 - n) % step === 0)
}
