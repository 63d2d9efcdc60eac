import { expect, it } from 'vitest'
import { lastDays } from '@/features/usage/days'

const of = (name: string, input_tokens: number, cached_tokens: number, output_tokens: number) => ({
  name,
  works: 1,
  usage: { input_tokens, cached_tokens, output_tokens },
})

it('every day up to today shows, with cached tokens apart from new ones', () => {
  const days = [of('2026-10-01', 9, 0, 9), of('2026-11-20', 100, 80, 7), of('2026-11-22', 5, 0, 1)]
  const shown = lastDays(days, new Date(2026, 10, 22, 23, 59), 3)
  expect(shown.map(day => day.name)).toEqual(['2026-11-20', '2026-11-21', '2026-11-22'])
  expect(shown[0]).toEqual({ name: '2026-11-20', works: 1, fresh: 20, cached: 80, output: 7 })
  expect(shown[1]).toEqual({ name: '2026-11-21', works: 0, fresh: 0, cached: 0, output: 0 })
})

it('each day shows once when clocks change, and no part is below zero', () => {
  for (const [month, day] of [
    [2, 30],
    [9, 26],
  ] as const) {
    const names = lastDays([], new Date(2025, month, day, 0, 5), 8).map(one => one.name)
    expect(new Set(names).size).toBe(8)
  }
  const [odd] = lastDays([of('2026-11-22', 1, 5, 0)], new Date(2026, 10, 22), 1)
  expect(odd?.fresh).toBe(0)
})
