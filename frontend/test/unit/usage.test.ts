import { expect, it } from 'vitest'
import type { TokenItem, TokenStats } from '@/api/types'
import { labelledPoints, pointsOf, rowsOf, ticksOf } from '@/features/usage/report'
import { costOf } from '@/features/usage/words'
import type { Translate } from '@/lib/i18n'

const sum = (prompt_tokens: number, completion_tokens: number) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
  cached_tokens: 0,
  thinking_tokens: 0,
  estimated_tokens: 0,
  works: 1,
  costs: [],
  unpriced_tokens: prompt_tokens + completion_tokens,
})
const item = (date: string, model: string, more: Partial<TokenItem> = {}): TokenItem => ({
  date,
  model,
  project_id: null,
  ...sum(10, 5),
  ...more,
})
const stats = (more: Partial<TokenStats>): TokenStats => ({
  period: 'daily',
  time_zone: 'UTC',
  from: '2026-11-20',
  to: '2026-11-22',
  ...sum(10, 5),
  items: [],
  limits: [],
  ...more,
})

it('every period of the report is a point, those without usage too', () => {
  const points = pointsOf(
    stats({ items: [item('2026-11-20', 'a'), item('2026-11-22', 'a'), item('2026-11-22', 'b')] }),
  )
  expect(points.map(({ name, sum }) => [name, sum.works, sum.prompt_tokens])).toEqual([
    ['2026-11-20', 1, 10],
    ['2026-11-21', 0, 0],
    ['2026-11-22', 2, 20],
  ])
  const names = (more: Partial<TokenStats>) => pointsOf(stats(more)).map(point => point.name)
  expect(names({ period: 'weekly', from: '2026-11-09', to: '2026-11-22' })).toEqual([
    '2026-11-09',
    '2026-11-16',
  ])
  expect(names({ period: 'monthly', from: '2025-12-01', to: '2026-01-31' })).toEqual([
    '2025-12-01',
    '2026-01-01',
  ])
})

it('each day is one point when clocks change', () => {
  for (const [from, to] of [
    ['2025-03-26', '2025-04-02'],
    ['2025-10-22', '2025-10-29'],
  ] as const) {
    expect(pointsOf(stats({ from, to })).length).toBe(8)
  }
})

it('rows add up by date, model and project, and costs by currency', () => {
  const usd = (amount: number) => ({ costs: [{ amount, currency: 'USD' }], unpriced_tokens: 0 })
  const items = [
    item('2026-11-21', 'a', usd(0.5)),
    item('2026-11-22', 'a', { ...usd(0.25), project_id: 'scratch' }),
    item('2026-11-22', 'b'),
  ]
  expect(rowsOf(items, 'time').map(row => row.name)).toEqual(['2026-11-22', '2026-11-21'])
  const [a, b] = rowsOf(items, 'model')
  expect([a?.name, a?.sum.costs, a?.sum.unpriced_tokens]).toEqual([
    'a',
    [{ amount: 0.75, currency: 'USD' }],
    0,
  ])
  expect([b?.name, b?.sum.costs, b?.sum.unpriced_tokens]).toEqual(['b', [], 15])
  expect(rowsOf(items, 'project').map(row => [row.name, row.sum.works])).toEqual([
    ['', 2],
    ['scratch', 1],
  ])
})

it('an unknown price is never written as 0', () => {
  const t = ((key: string, vars?: Record<string, string>) =>
    `${key} ${vars?.known ?? ''}`.trim()) as Translate
  const costs = [{ amount: 0.0042, currency: 'USD' }]
  expect(costOf(sum(1, 1), t, 'en')).toBe('usageCostUnknown')
  expect(costOf({ ...sum(1, 1), costs }, t, 'en')).toBe('usageCostPartly $0.0042')
  expect(costOf({ ...sum(1, 1), costs, unpriced_tokens: 0 }, t, 'en')).toBe('$0.0042')
  expect(costOf({ ...sum(1, 1), costs: [{ amount: 0, currency: 'USD' }], unpriced_tokens: 0 }, t, 'en')).toBe(
    '$0.00',
  )
  expect(costOf({ ...sum(0, 0) }, t, 'en')).toBe('–')
})

it('the axis ends above the highest value, and the last point has a label', () => {
  expect(ticksOf(57_000)).toEqual([0, 20_000, 40_000, 60_000])
  for (const most of [0, 1, 7, 999, 1_000_000]) expect(ticksOf(most).at(-1)).toBeGreaterThanOrEqual(most)
  expect(labelledPoints(12, 8)).toEqual([1, 3, 5, 7, 9, 11])
  expect(labelledPoints(3, 8)).toEqual([0, 1, 2])
})
