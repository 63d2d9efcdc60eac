import { afterEach, describe, expect, it } from 'vitest'
import { keys, queryClient } from '@/api/queries'
import type { SessionSummary } from '@/api/types'
import { commandOf, isEnabled } from '@/app/commands'
import { useArrangement } from '@/features/sessions/arrangement'
import { filtered, groupsOf } from '@/features/sessions/groups'
import { markWords, wordsOf } from '@/lib/needle'
import { setFold } from '@/stores/folds'
import { useSeen } from '@/stores/seen'
import { receive } from '@/thread/advance'
import { fromHistory } from '@/thread/history'
import { emptyThread } from '@/thread/model'
import { entryOf } from '@/thread/places'
import { contextOf } from '../commands'
import { ENVELOPES, FRAMES, historyAt } from './frames'

const NOW = new Date('2026-11-22T12:00:00Z')
const session = (id: string, daysAgo: number): SessionSummary => ({
  ...{ id, title: id, created_at: 0, message_count: 2, tokens: 0, state: 'idle' },
  updated_at: NOW.getTime() / 1000 - daysAgo * 86_400,
})

it('pinned conversations come first, in pinned order, and nowhere else', () => {
  const sessions = [session('a', 0), session('b', 0), session('c', 3), session('d', 9)]
  const kept = { pinned: ['d', 'gone', 'a'], archived: [], labels: {} }
  const shape = groupsOf(sessions, kept, 'activity', NOW).map(g => [g.name, g.sessions.map(s => s.id)])
  expect(shape).toEqual([
    ['pinned', ['d', 'a']],
    ['today', ['b']],
    ['week', ['c']],
  ])
  const alone = groupsOf([session('c', 3)], { pinned: [], archived: [], labels: {} }, 'activity', NOW)
  expect(alone.map(g => g.name)).toEqual(['week'])
})

it('archived sessions come last and nowhere else, unless they run or wait', () => {
  const busy = (id: string, state: SessionSummary['state']) => ({ ...session(id, 0), state })
  const sessions = [
    session('a', 0),
    busy('b', 'running'),
    busy('c', 'approval'),
    busy('d', 'error'),
    session('e', 2),
  ]
  const kept = { pinned: ['a', 'b'], archived: ['a', 'b', 'c', 'd', 'gone'], labels: {} }
  const shape = groupsOf(sessions, kept, 'activity', NOW).map(g => [g.name, g.sessions.map(s => s.id)])
  expect(shape).toEqual([
    ['pinned', ['b']],
    ['today', ['c']],
    ['week', ['e']],
    ['archived', ['a', 'd']],
  ])
})

it('conversations are grouped by day and month, and sorted as chosen', () => {
  const sessions = [
    session('b 10', 0),
    session('b 9', 1),
    session('old', 40),
    session('older', 41),
    session('c', 80),
  ]
  const none = { pinned: [], archived: [], labels: {} }
  const shape = (sort: 'activity' | 'created' | 'title') =>
    groupsOf(sessions, none, sort, NOW).map(g => [g.name, g.sessions.map(s => s.id)])
  expect(shape('activity')).toEqual([
    ['today', ['b 10']],
    ['yesterday', ['b 9']],
    ['month', ['old', 'older']],
    ['month', ['c']],
  ])
  expect(shape('title')).toEqual([['all', ['b 9', 'b 10', 'c', 'old', 'older']]])
  // All were created at once, long ago.
  expect(shape('created').map(([name]) => name)).toEqual(['month'])
})

it('a filter leaves what is unread, runs or waits', () => {
  const runs = { ...session('runs', 0), state: 'running' as const }
  const asks = session('asks', 0)
  const all = [session('read', 0), session('grown', 0), runs, asks]
  const counts = { read: 2, grown: 1, runs: 1, asks: 2 }
  const left = (filter: Parameters<typeof filtered>[1]) =>
    filtered(all, filter, { waiting: new Set(['asks']), counts, labels: { read: ['work', 'x'] } }).map(
      ({ id }) => id,
    )
  expect(left('all')).toHaveLength(4)
  expect(left('unread')).toEqual(['grown'])
  expect(left('running')).toEqual(['runs'])
  expect(left('waiting')).toEqual(['asks'])
  expect([left('label:x'), left('label:y')]).toEqual([['read'], []])
})

describe('the keys between conversations', () => {
  afterEach(() => {
    queryClient.clear()
    useArrangement.setState({ sort: 'activity', filter: 'all' })
    useSeen.setState({ counts: null })
    setFold('archived', false)
  })
  /** Where Alt and an arrow lead from a conversation; null if they lead nowhere. */
  const leads = (from: string | null, by: 'nextSession' | 'previousSession'): string | null => {
    let to: string | null = null
    const navigate = (path: string) => {
      to = path
    }
    const context = { ...contextOf(from), navigate }
    const command = commandOf(by)
    if (isEnabled(command, context)) command.run(context)
    return to
  }
  const down = (from: string | null): string[] => {
    const to = leads(from, 'nextSession')?.replace('/s/', '')
    return to === undefined ? [] : [to, ...down(to)]
  }
  const put = (sessions: SessionSummary[]) =>
    queryClient.setQueryData(keys.sessions, { sessions, pinned: ['p'], archived: ['z'] })

  it('follow the list as it is pinned, sorted and archived', () => {
    put([session('b', 0), session('z', 0), session('a', 1), session('p', 9)])
    expect(down(null)).toEqual(['p', 'b', 'a'])
    expect(leads('p', 'previousSession')).toBeNull()
    expect(leads('b', 'previousSession')).toBe('/s/p')
    useArrangement.setState({ sort: 'title' })
    expect(down('p')).toEqual(['a', 'b'])
    setFold('archived', true)
    expect(down('p')).toEqual(['a', 'b', 'z'])
  })

  it('follow the filter', () => {
    put([session('a', 0), session('b', 1), session('c', 2)])
    useSeen.setState({ counts: { a: 2, b: 1, c: 1 } })
    useArrangement.setState({ filter: 'unread' })
    expect(down('a')).toEqual(['b', 'c'])
  })
})

it('a branched session knows its origin', () => {
  const history = { ...historyAt(FRAMES.length), parent: { session_id: 'p', message_id: 'm7' } }
  expect(fromHistory(history).parent).toEqual({ sessionId: 'p', messageId: 'm7' })
  expect(fromHistory(historyAt(FRAMES.length)).parent).toBeNull()
})

describe('search words', () => {
  const marked = (text: string, query: string) =>
    markWords(text, wordsOf(query))
      .map(s => (s.marked ? `[${s.text}]` : s.text))
      .join('')
  it('match anywhere, in any case', () => {
    expect(marked('The Keys and a monkey', 'KEY')).toBe('The [Key]s and a mon[key]')
    expect(marked('请整理三月的发票', '三月 发票')).toBe('请整理[三月]的[发票]')
  })
  it('are not patterns', () => {
    expect(marked('a+b (c) a.b', 'a+b (c)')).toBe('[a+b] [(c)] a.b')
    expect(marked('as it is', '  ')).toBe('as it is')
  })
})

describe('a message in its thread', () => {
  it('is found by its id, from the history and from the stream', () => {
    const loaded = fromHistory(historyAt(FRAMES.length))
    const heard = ENVELOPES.reduce(receive, emptyThread('s'))
    expect(entryOf(loaded, 'm1')).toBe('m1')
    expect(entryOf(heard, 'm1')).toBe('m1')
    expect(entryOf(heard, 'w1.3')).toBe('w1:answer')
    expect(entryOf(loaded, 'a1')).toBe('w1:answer')
    expect(entryOf(heard, 'w10.3')).toBeNull()
    expect(entryOf(loaded, 'nowhere')).toBeNull()
  })
})
