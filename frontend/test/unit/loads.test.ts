import { afterEach, expect, it, vi } from 'vitest'
import type { History } from '@/api/types'
import { loadThread } from '@/app/threads'
import { deliver, editOutbox, updateThread, useLive, waiting } from '@/stores/live'
import { shownThread } from '@/thread/loaded'

const api = vi.hoisted(() => ({ getHistory: vi.fn() }))
vi.mock('@/api/endpoints', async original => ({ ...(await original<object>()), ...api }))

const history = (last_event_id: string, ...said: string[]): History => ({
  ...{ session_id: 's', title: '', running: null, last_event_id },
  messages: said.map(id => ({ role: 'user' as const, content: id, id, work_id: id })),
})
const arrives = (id: string, message_id: string) =>
  deliver(
    new Map([
      [
        's',
        [{ id, frame: { type: 'user_message', work_id: 'w', message_id, content: 'Hi', attachments: [] } }],
      ],
    ]),
  )
const thread = () => shownThread(useLive.getState().threads.s)
const ids = () => thread()?.entries.flatMap(entry => (entry.kind === 'user' ? [entry.id] : []))

/** An answer of the server that the test gives later. */
function pending() {
  let resolve: (history: History) => void = () => {}
  let reject: (error: Error) => void = () => {}
  const promise = new Promise<History>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

/** Begins two loads, as after a restart of the server: its new id and the gap each ask for one. */
function twoLoads() {
  const [first, second] = [pending(), pending()]
  api.getHistory.mockReturnValueOnce(first.promise).mockReturnValueOnce(second.promise)
  return { first, second, loads: [loadThread('s'), loadThread('s')] }
}

afterEach(() => {
  updateThread('s', () => undefined)
  editOutbox('s', () => [])
})

it('a message stays if two histories were requested before it was sent', async () => {
  const { first, second, loads } = twoLoads()
  editOutbox('s', () => [
    { key: 'k', content: 'Hi', attachments: [], when: 'next', state: { kind: 'accepted', workId: 'w' } },
  ])
  first.resolve(history('b.1', 'old'))
  await loads[0]
  arrives('b.2', 'k')
  second.resolve(history('b.1', 'old'))
  await loads[1]
  expect(ids()).toEqual(['old', 'k'])
  expect(waiting(useLive.getState().outbox.s ?? [], thread())).toEqual([])
})

it('of two loads the one that was begun last counts, in whatever order they are answered', async () => {
  const { first, second, loads } = twoLoads()
  second.resolve(history('b.2', 'old', 'new'))
  await loads[1]
  first.resolve(history('b.1', 'old'))
  await loads[0]
  expect(ids()).toEqual(['old', 'new'])
})

it('an earlier load that fails does not hide the later one', async () => {
  const { first, second, loads } = twoLoads()
  second.resolve(history('b.1', 'old'))
  await loads[1]
  first.reject(new Error('no answer'))
  await loads[0]
  expect(useLive.getState().threads.s?.phase).toBe('ready')
})
