/** The list of tasks of a conversation: what its calls leave of it. The server makes the same of them (src/domain/todo.rs). */
import type { TodoItem, TodoList } from '@/api/types'

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined

function textOf(value: unknown, name: string): string | null {
  const text = fieldOf(value, name)
  return typeof text === 'string' ? text : null
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The list that a call has begun; null if it failed. */
function created(data: unknown): TodoList | null {
  const info = fieldOf(data, 'todolist_info')
  const [id, name] = [textOf(info, 'todolist_id'), textOf(info, 'todolist_name')]
  const given = fieldOf(data, 'todo_items')
  if (id === null || name === null || !Array.isArray(given)) return null
  const items = given.flatMap((item): TodoItem[] => {
    const [id, title] = [textOf(item, 'item_id'), textOf(item, 'title')]
    return id === null || title === null ? [] : [{ id, title, completed: null }]
  })
  return { id, name, items }
}

function completed(list: TodoList, data: unknown): TodoList {
  const at = new Map(
    listOf(fieldOf(data, 'operation_results')).map(result => [
      textOf(result, 'item_id'),
      textOf(result, 'completion_time'),
    ]),
  )
  const items = list.items.map(item => ({ ...item, completed: item.completed ?? at.get(item.id) ?? null }))
  return { ...list, items }
}

/** The list after a call with this result; the same list if the call has nothing to do with it. */
export function afterCall(list: TodoList | null, tool: string, result: unknown): TodoList | null {
  const data = fieldOf(result, 'data')
  if (tool === 'create_todolist') return created(data) ?? list
  return tool === 'done_todo' && list ? completed(list, data) : list
}
