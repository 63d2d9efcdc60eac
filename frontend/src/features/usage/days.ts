/** The days of the chart. */
import type { UsageOf } from '@/api/types'

export interface Day {
  name: string
  /** Input tokens that were not cached. */
  fresh: number
  cached: number
  output: number
  works: number
}

const DAY_MS = 86_400_000

/** The local date as `2026-11-22`. */
const nameOf = (at: Date): string =>
  [at.getFullYear(), at.getMonth() + 1, at.getDate()].map(n => String(n).padStart(2, '0')).join('-')

/** The last `count` days up to `now`, including those without usage. */
export function lastDays(days: readonly UsageOf[], now: Date, count: number): Day[] {
  const known = new Map(days.map(day => [day.name, day]))
  // At noon: a day has 23 or 25 hours when clocks change.
  const noon = new Date(now).setHours(12, 0, 0, 0)
  return Array.from({ length: count }, (_, n) => {
    const name = nameOf(new Date(noon - (count - 1 - n) * DAY_MS))
    const { usage, works = 0 } = known.get(name) ?? {}
    const cached = usage?.cached_tokens ?? 0
    return {
      name,
      works,
      cached,
      fresh: Math.max(0, (usage?.input_tokens ?? 0) - cached),
      output: usage?.output_tokens ?? 0,
    }
  })
}
