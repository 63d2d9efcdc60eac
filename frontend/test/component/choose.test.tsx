import { fireEvent, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { keys, queryClient } from '@/api/queries'
import type { SessionSummary } from '@/api/types'
import { archiveAll, removeAll } from '@/features/sessions/bulk'
import ChooseList from '@/features/sessions/ChooseList'
import type { Group } from '@/features/sessions/groups'
import { useToasts } from '@/stores/toasts'
import { serve as serveCalls } from '../fetch'

const session = (id: string): SessionSummary => ({
  ...{ id, title: `The ${id}`, created_at: 0, updated_at: 0, message_count: 2, tokens: 0, state: 'idle' },
})
const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(session) as [
  SessionSummary,
  SessionSummary,
  SessionSummary,
  SessionSummary,
]
const GROUPS: Group[] = [
  { name: 'today', sessions: [a, b] },
  { name: 'week', sessions: [c] },
  { name: 'archived', sessions: [d] },
]

beforeEach(() => {
  useToasts.setState({ list: [] })
  queryClient.setQueryData(keys.sessions, { sessions: [a, b, c, d], pinned: [], archived: ['d'] })
})
afterEach(() => vi.unstubAllGlobals())

function show(start: string[] = []) {
  const onDone = vi.fn()
  render(<ChooseList groups={GROUPS} start={start} waiting={new Set()} current={null} onDone={onDone} />)
  return onDone
}
const box = (id: string) => screen.getByRole<HTMLInputElement>('checkbox', { name: `The ${id}` })
const checked = () => ['a', 'b', 'c', 'd'].filter(id => box(id).checked)

it('rows are selected one by one, as a range, all or none', async () => {
  const person = userEvent.setup()
  show(['a'])
  expect(checked()).toEqual(['a'])
  await person.click(screen.getByText('The b'))
  expect(screen.getByRole('status').textContent).toBe('2 selected')
  await person.click(box('a'))
  await person.click(box('b'))
  expect(checked()).toEqual([])
  fireEvent.click(box('d'), { shiftKey: true })
  expect(checked()).toEqual(['b', 'c', 'd'])
  await person.click(screen.getByRole('button', { name: 'Select all' }))
  expect(checked()).toEqual(['a', 'b', 'c', 'd'])
  await person.click(screen.getByRole('button', { name: 'Clear selection' }))
  expect(checked()).toEqual([])
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Delete' }).disabled).toBe(true)
})

it('the space bar and Esc work, and nothing else receives the Esc', async () => {
  const person = userEvent.setup()
  const heard = vi.fn()
  window.addEventListener('keydown', heard)
  const onDone = show(['c'])
  await vi.waitFor(() => expect(document.activeElement).toBe(box('c')))
  await person.keyboard(' ')
  expect(checked()).toEqual([])
  heard.mockClear()
  await person.keyboard('{Escape}')
  expect(onDone).toHaveBeenCalledOnce()
  expect(heard).not.toHaveBeenCalled()
  window.removeEventListener('keydown', heard)
})

it('archived sessions can only be unarchived', () => {
  show(['d'])
  expect(screen.getByRole('button', { name: 'Restore' })).toBeTruthy()
  fireEvent.click(box('a'))
  expect(screen.getByRole('button', { name: 'Archive' })).toBeTruthy()
})

/** Responds to each call by its method and the session's id. */
function serve(answers: Record<string, [number, unknown]>): string[] {
  const asked: string[] = []
  serveCalls(({ method, path }) => {
    const name = `${method} ${path.replace('/api/sessions/', '')}`
    if (method === 'GET') return [200, {}]
    asked.push(name)
    return answers[name] ?? [200, {}]
  })
  return asked
}
const toasts = () => useToasts.getState().list.map(({ text }) => text)

it('several sessions are deleted with one undo, and failures are reported', async () => {
  const asked = serve({ 'DELETE b': [500, { code: 'io', message: 'The disk says no.' }] })
  expect(await removeAll([a, b, c])).toEqual(['a', 'c'])
  expect(toasts()).toEqual(['Something went wrong: The disk says no.', '2 conversations deleted'])
  useToasts.getState().list.at(-1)?.action?.run()
  await vi.waitFor(() => expect(toasts().at(-1)).toBe('2 conversations restored'))
  expect(asked).toEqual(['DELETE a', 'DELETE b', 'DELETE c', 'POST a/restore', 'POST c/restore'])
})

it('several sessions are archived with one undo', async () => {
  const asked = serve({
    'PUT a/archived': [200, { archived: ['d', 'a'] }],
    'PUT b/archived': [200, { archived: ['d', 'a', 'b'] }],
  })
  await archiveAll(['a', 'b'], true)
  expect(queryClient.getQueryData(keys.sessions)).toMatchObject({ archived: ['d', 'a', 'b'] })
  expect(toasts()).toEqual(['2 conversations archived'])
  useToasts.getState().list.at(-1)?.action?.run()
  await vi.waitFor(() => expect(toasts().at(-1)).toBe('2 conversations restored'))
  expect(asked).toEqual(['PUT a/archived', 'PUT b/archived', 'DELETE a/archived', 'DELETE b/archived'])
})
