import { expect, it } from 'vitest'
import type { History } from '@/api/types'
import { branchesAt } from '@/thread/branches'
import { entriesWith } from '@/thread/find'
import { fromHistory } from '@/thread/history'

const history = (over: Partial<History> = {}): History => ({
  session_id: 's',
  title: '',
  messages: [
    { role: 'user', content: 'Where is the Key?', id: 'a', work_id: 'w1', created_at: 10 },
    { role: 'assistant', content: 'In the *drawer*.', id: 'w1.0', work_id: 'w1' },
    { role: 'assistant', content: 'The second one.', id: 'w1.1', work_id: 'w1' },
    { role: 'user', content: '谢谢', id: 'b', work_id: 'w2', created_at: 50 },
  ],
  last_event_id: 'x.1',
  branches: [
    { message_id: 'later', after: 'w1.1', created_at: 60 },
    { message_id: 'sooner', after: 'w1.1', created_at: 40 },
    { message_id: 'first', created_at: 5 },
  ],
  ...over,
})

it('the branches at a message follow the same one, in the order they were asked', () => {
  const thread = fromHistory(history())
  expect(branchesAt(thread, 0)).toEqual(['first', 'a'])
  expect(branchesAt(thread, 2)).toEqual(['sooner', 'b', 'later'])
  expect(branchesAt(thread, 1)).toEqual([])
  expect(branchesAt(fromHistory(history({ branches: undefined })), 2)).toEqual(['b'])
})

it('search finds all words in one message, in the displayed text', () => {
  const thread = fromHistory(history())
  expect(entriesWith(thread, 'KEY')).toEqual(['a'])
  expect(entriesWith(thread, 'drawer second')).toEqual(['w1:answer'])
  expect(entriesWith(thread, '谢')).toEqual(['b'])
  expect(entriesWith(thread, 'key drawer')).toEqual([])
  expect(entriesWith(thread, '  ')).toEqual([])
  expect(entriesWith(null, 'key')).toEqual([])
})
