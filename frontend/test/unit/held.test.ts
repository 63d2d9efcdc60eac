import { beforeEach, expect, it, vi } from 'vitest'
import * as api from '@/api/endpoints'
import { send, sendHeld } from '@/app/threads'
import { setConnection, useLive } from '@/stores/live'
import { useToasts } from '@/stores/toasts'

vi.mock('@/api/endpoints', async actual => ({
  ...(await actual<typeof api>()),
  getHistory: vi.fn(() => new Promise(() => {})),
  sendMessage: vi.fn(async () => ({ work_id: 'w1' })),
}))

beforeEach(() => useLive.setState({ outbox: {}, threads: {} }))

it('only one message is held while offline', () => {
  setConnection('lost')
  send('s', { content: 'Hi', attachments: [] })
  send('s', { content: 'Again', attachments: [] })
  expect(useLive.getState().outbox.s?.map(({ content }) => content)).toEqual(['Hi'])
  expect(useToasts.getState().list.at(-1)?.text).toContain('Can’t reach the server')
})

it('a held message is sent with its own key once the connection is back', async () => {
  setConnection('lost')
  send('s', { content: 'Hi', attachments: [] })
  expect(api.sendMessage).not.toHaveBeenCalled()
  const [waits] = useLive.getState().outbox.s ?? []
  expect(waits?.state).toEqual({ kind: 'held' })
  setConnection('open')
  sendHeld()
  await vi.waitFor(() =>
    expect(useLive.getState().outbox.s?.[0]?.state).toEqual({ kind: 'accepted', workId: 'w1' }),
  )
  expect(api.sendMessage).toHaveBeenCalledTimes(1)
  expect(vi.mocked(api.sendMessage).mock.calls[0]?.[1]).toMatchObject({
    message: 'Hi',
    idempotency_key: waits?.key,
  })
  sendHeld()
  expect(api.sendMessage).toHaveBeenCalledTimes(1)
})
