import { expect, it } from 'vitest'
import type { Frame, History } from '@/api/types'
import { advance } from '@/thread/advance'
import { fromHistory } from '@/thread/history'
import { emptyThread } from '@/thread/model'
import { afterCall } from '@/thread/todo'

const made = (id: string, titles: string[]) => ({
  status: 0,
  data: {
    todolist_info: { todolist_id: id, todolist_name: `list ${id}` },
    todo_items: titles.map((title, i) => ({ item_id: `TD_00${i + 1}`, title })),
  },
})
const done = (...ids: string[]) => ({
  data: {
    operation_results: [...ids.map(item_id => ({ item_id, completion_time: 'now' })), { item_id: 'TD_002' }],
  },
})

it('the newest list counts, with what was completed after it', () => {
  let list = afterCall(null, 'done_todo', done('TD_001'))
  expect(list).toBeNull()
  list = afterCall(list, 'create_todolist', made('a', ['x']))
  list = afterCall(list, 'done_todo', done('TD_001'))
  list = afterCall(list, 'create_todolist', made('b', ['z', 'w']))
  list = afterCall(list, 'done_todo', done('TD_001', 'TD_009'))
  expect(list).toEqual({
    id: 'b',
    name: 'list b',
    items: [
      { id: 'TD_001', title: 'z', completed: 'now' },
      { id: 'TD_002', title: 'w', completed: null },
    ],
  })
})

it('a task keeps the time of its first completion', () => {
  const list = afterCall(afterCall(null, 'create_todolist', made('a', ['x'])), 'done_todo', done('TD_001'))
  const later = { data: { operation_results: [{ item_id: 'TD_001', completion_time: 'later' }] } }
  expect(afterCall(list, 'done_todo', later)?.items[0]?.completed).toBe('now')
})

it.each([undefined, null, 'x', {}, { data: [] }, { data: { todolist_info: { todolist_id: 1 } } }])(
  'a call that failed (%j) leaves the list as it is',
  result => {
    const list = afterCall(null, 'create_todolist', made('a', ['x']))
    expect(afterCall(list, 'create_todolist', result)).toEqual(list)
    expect(afterCall(list, 'done_todo', result)).toEqual(list)
    expect(afterCall(list, 'read_file', done('TD_001'))).toBe(list)
  },
)

it('the list is that of the history, and frames continue it', () => {
  const todo = { id: 'a', name: 'n', items: [{ id: 'TD_001', title: 'x', completed: null }] }
  const history = { session_id: 's', title: '', messages: [], last_event_id: null, todo_list: todo }
  const thread = fromHistory(history as unknown as History)
  expect(thread.todo).toEqual(todo)
  const end = { type: 'tool_end', tool: 'done_todo', id: 'c', output: '', status: 'done' } as const
  const frame: Frame = { ...end, operation_code: [], duration_ms: 1, result: done('TD_001') }
  expect(advance(thread, frame).todo?.items[0]?.completed).toBe('now')
  expect(advance(emptyThread('s'), frame).todo).toBeNull()
})
