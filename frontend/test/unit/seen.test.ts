import { expect, it } from 'vitest'
import type { SessionSummary } from '@/api/types'
import { isUnread, look } from '@/stores/seen'

const session = (
  id: string,
  message_count: number,
  state: SessionSummary['state'] = 'idle',
): SessionSummary => ({
  ...{ id, message_count, state },
  ...{ title: id, tokens: 0, created_at: 0, updated_at: 0 },
})

it('messages of the first list count as read, and later ones do not', () => {
  const counts = look(null, [session('a', 2), session('b', 4)], null)
  expect(counts).toEqual({ a: 2, b: 4 })
  expect(isUnread(counts, session('a', 2))).toBe(false)
  expect(isUnread(counts, session('a', 4))).toBe(true)
  expect(isUnread(counts, session('new', 2))).toBe(true)
})

it('the open conversation stays read, and a deleted one that comes back is as read as before', () => {
  expect(look({ a: 2, b: 4 }, [session('a', 6)], 'a')).toEqual({ a: 6, b: 4 })
  expect(isUnread({ a: 6, b: 4 }, session('b', 6))).toBe(true)
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`gone-${n}`, 1]))
  expect(Object.keys(look({ ...many, a: 2 }, [session('a', 6)], 'a') ?? {})).toHaveLength(101)
  expect(look({ a: 6 }, [session('a', 6)], 'a')).toBeNull()
  expect(look({ a: 6 }, [session('a', 8), session('new', 2)], null)).toBeNull()
})

it('a session that runs or waits is not unread', () => {
  expect(isUnread({ a: 2 }, session('a', 4, 'running'))).toBe(false)
  expect(isUnread({ a: 2 }, session('a', 4, 'approval'))).toBe(false)
  expect(isUnread({ a: 2 }, session('a', 4, 'error'))).toBe(true)
})
