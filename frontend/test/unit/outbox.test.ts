import { expect, it } from 'vitest'
import { type Outgoing, waiting } from '@/stores/live'
import { advance } from '@/thread/advance'
import { emptyThread } from '@/thread/model'

const begun = advance(emptyThread('s'), {
  type: 'user_message',
  work_id: 'w1',
  content: 'Hi',
  message_id: 'm',
})
const item = (state: Outgoing['state'], content = 'Hi'): Outgoing => ({
  key: 'k',
  content,
  attachments: [],
  when: 'next',
  state,
})

it('a message leaves the outbox when its work is in the thread', () => {
  expect(waiting([item({ kind: 'accepted', workId: 'w1' })], begun)).toEqual([])
  expect(waiting([item({ kind: 'accepted', workId: 'w2' })], begun)).toHaveLength(1)
})

it('a message leaves even if the frame overtakes the response to the POST, or there is none', () => {
  const known = { ...item({ kind: 'sending' }), key: 'm' }
  expect(waiting([known], begun)).toEqual([])
  expect(waiting([{ ...known, state: { kind: 'failed', reason: 'x' } }], begun)).toEqual([])
  expect(waiting([item({ kind: 'sending' })], begun)).toHaveLength(1)
})

it('a failed message stays until it is resent or discarded', () => {
  expect(waiting([item({ kind: 'failed', reason: 'x' })], begun)).toHaveLength(1)
})
