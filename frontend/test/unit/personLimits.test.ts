import { expect, test } from 'vitest'
import type { Person, PersonUsage } from '@/api/types'
import { inOrder } from '@/features/people/order'
import { limitsOf, ownOf, typedOf, wrongField } from '@/features/usage/limits'

const NONE = { dayTokens: '', dayCost: '', monthTokens: '', monthCost: '', currency: 'USD' }

test('typed limits are numbers, and empty fields limit nothing', () => {
  expect(limitsOf(NONE)).toEqual({ day: null, month: null })
  expect(limitsOf({ ...NONE, dayTokens: ' 200 000 ', monthCost: '2.5', currency: 'eur ' })).toEqual({
    day: { tokens: 200_000, cost: null, currency: null },
    month: { tokens: null, cost: 2.5, currency: 'EUR' },
  })
  for (const wrong of [{ dayTokens: '1.5' }, { dayTokens: '-1' }, { monthCost: 'x' }, { dayCost: '1e999' }])
    expect(limitsOf({ ...NONE, ...wrong })).toBeNull()
  expect(wrongField(NONE)).toBeNull()
  expect(wrongField({ ...NONE, monthTokens: '1,2', dayCost: 'x' })).toBe('monthTokens')
  expect(wrongField({ ...NONE, monthCost: '2,50' })).toBe('monthCost')
  expect(wrongField({ ...NONE, dayCost: '1', currency: 'euro' })).toBe('currency')
  expect(wrongField({ ...NONE, currency: '' })).toBeNull()
})

test('limits of the server are shown as they were typed', () => {
  const limits = { day: { tokens: 0 }, month: { cost: 2.5, currency: 'EUR' } } as Person['limits']
  expect(typedOf(limits)).toEqual({ ...NONE, dayTokens: '0', monthCost: '2.5', currency: 'EUR' })
  expect(typedOf(null)).toEqual(NONE)
})

test('people are sorted by what they use, unknown last', () => {
  const person = (id: string, username: string, seen: string | null) =>
    ({ id, username, last_login_at: seen }) as Person
  const people = [
    person('1', 'Zoe', null),
    person('2', 'ann', '2026-11-02'),
    person('3', 'Bob', '2026-11-03'),
  ]
  const used = (id: string, total_tokens: number, bytes: number | null) =>
    [id, { month: { total_tokens }, home: bytes === null ? null : { bytes } } as PersonUsage] as const
  const usage = new Map([used('1', 5, null), used('3', 50, 9)])
  const order = (by: Parameters<typeof inOrder>[2]) => inOrder(people, usage, by).map(({ id }) => id)
  expect(order('created')).toEqual(['1', '2', '3'])
  expect(order('name')).toEqual(['2', '3', '1'])
  expect(order('seen')).toEqual(['3', '2', '1'])
  expect(order('tokens')).toEqual(['3', '1', '2'])
  expect(order('size')[0]).toBe('3')
})

test('reads the limits of a person from all that count', () => {
  const limit = { period: 'day', tokens: 5, used_tokens: 1, cost: null, used_cost: null, set_by: 'server' }
  expect(ownOf([limit])).toBeNull()
  const own = {
    ...limit,
    set_by: 'person',
    period: 'month',
    tokens: null,
    cost: { amount: 2, currency: 'EUR' },
  }
  expect(ownOf([limit, own])).toEqual({ day: null, month: { tokens: null, cost: 2, currency: 'EUR' } })
})
