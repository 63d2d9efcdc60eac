/** The days of the chart. */
import type { UsageOf } from '@/api/types'

export interface Day {
  name: string
  /** Of the input: not cached. */
  fresh: number
  cached: number
  output: number
  works: number
}

const DAY_MS = 86_400_000

/** A day as `2026-11-22`, where the reader is. */
const nameOf = (at: Date): string =>
  [at.getFullYear(), at.getMonth() + 1, at.getDate()].map(n => String(n).padStart(2, '0')).join('-')

/** The last `count` days up to `now`, those without any use among them. */
export function lastDays(days: readonly UsageOf[], now: Date, count: number): Day[] {
  const known = new Map(days.map(day => [day.name, day]))
  // At noon: a day has 23 or 25 hours where clocks are changed.
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
