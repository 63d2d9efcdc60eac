import { afterEach, expect, it, vi } from 'vitest'
import type { History } from '@/api/types'
import { loadEarlier } from '@/app/threads'
import { updateThread, useLive } from '@/stores/live'
import { settle } from '@/thread/loaded'

const api = vi.hoisted(() => ({ getHistory: vi.fn() }))
vi.mock('@/api/endpoints', async original => ({ ...(await original<object>()), ...api }))

const all = Array.from({ length: 6 }, (_, n) => ({
  ...{ role: 'user' as const, content: `${n}`, id: `q${n}`, work_id: `w${n}` },
}))
const page = (from: number, to: number): History => ({
  ...{ session_id: 's', title: '', messages: all.slice(from, to), last_event_id: '1.1', running: null },
  ...(from > 0 ? { earlier: from } : {}),
})
afterEach(() => updateThread('s', () => undefined))

it('a page and all the rest, wanted at the same time, are loaded one after the other', async () => {
  updateThread('s', () => settle(undefined, page(4, 6)))
  api.getHistory.mockResolvedValueOnce(page(2, 4)).mockResolvedValueOnce(page(0, 2))
  const wanted = [loadEarlier('s', 'page'), loadEarlier('s', 'all'), loadEarlier('s', 'page')]
  expect(await Promise.all(wanted)).toEqual([true, true, true])
  expect(api.getHistory.mock.calls.map(([, query]) => query.before)).toEqual(['q4', 'q2'])
  const loaded = useLive.getState().threads.s
  expect(loaded?.phase === 'ready' && loaded.thread.entries.map(entry => entry.id)).toEqual(
    all.map(m => m.id),
  )
  expect(await loadEarlier('s', 'all')).toBe(false)
})
