import { QueryClientProvider } from '@tanstack/react-query'
import { act, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { queryClient } from '@/api/queries'
import { rename } from '@/features/editor/actions'
import { Files } from '@/features/inspector/Files'
import { ProjectFiles } from '@/features/inspector/ProjectFiles'
import { useToasts } from '@/stores/toasts'
import { useUi } from '@/stores/ui'
import { type Asked, serve } from '../fetch'
import { file } from '../file'

const ROOT = 'project/tea' as const
const data = (data: unknown) => [200, { code: 0, data }] as const
const entry = (name: string) => ({
  ...{ name, path: name, type: name.startsWith('d') ? 'folder' : 'file', size: 1, ignored: false },
  modified_at: '2026-01-01T00:00:00Z',
})

let asked: string[]
let answer: (asked: Asked, url: URL) => readonly [number, unknown]
beforeEach(async () => {
  queryClient.clear()
  queryClient.setDefaultOptions({ queries: { retry: false } })
  vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockReturnValue(600)
  vi.spyOn(HTMLElement.prototype, 'offsetHeight', 'get').mockReturnValue(28)
  useUi.setState({ file: null })
  useToasts.setState({ list: [] })
  asked = []
  serve(request => {
    const url = new URL(request.path, location.href)
    if (!url.pathname.startsWith('/api/projects/tea') && !url.pathname.startsWith('/api/files'))
      return data({ items: [], has_more: false })
    asked.push(`${request.method} ${decodeURIComponent(request.path)}`)
    return answer(request, url)
  })
})
afterEach(() => vi.unstubAllGlobals())

const inQueries = (children: React.ReactNode) => (
  <QueryClientProvider client={queryClient}>{children}</QueryClientProvider>
)
const tree = () =>
  inQueries(
    <Files
      root={ROOT}
      filter=""
      problemOf={() => null}
      current={null}
      dirty={new Set()}
      onOpen={() => {}}
      actions={null}
    />,
  )
const nameIn = (row: Element | null) => row?.textContent.replace(/1 B$/, '')
const rows = () => screen.getAllByRole('treeitem').map(nameIn)

it('the next page of a folder is loaded when its row is seen, and keeps the focus', async () => {
  let arrive = () => {}
  const arrived = new Promise<void>(resolve => {
    arrive = resolve
  })
  serve(async request => {
    const { pathname, searchParams } = new URL(request.path, location.href)
    if (!pathname.endsWith('/files')) return [200, { skills: [], untrusted: [] }]
    asked.push(`${searchParams.get('limit')} ${searchParams.get('cursor')}`)
    if (searchParams.get('cursor') === null)
      return data({
        items: ['d', 'b'].map(entry),
        ...{ has_more: true, next_cursor: 'f/b', left_out: 2 },
      })
    await arrived
    return data({ items: ['a', 'c'].map(entry), has_more: false, left_out: 0 })
  })
  render(tree())
  const more = await screen.findByText('2 more, loading…')
  act(() => more.closest<HTMLElement>('[role=treeitem]')?.focus())
  expect(asked).toEqual(['2000 null', '10000 f/b'])
  await act(async () => arrive())
  // The order is the server's, and the first new entry has the focus.
  await vi.waitFor(() => expect(rows()).toEqual(['d', 'b', 'a', 'c']))
  await vi.waitFor(() => expect(nameIn(document.activeElement)).toBe('a'))
  // What is read again has all that was shown.
  asked.length = 0
  await act(() => queryClient.invalidateQueries())
  await vi.waitFor(() => expect(asked).toEqual(['2000 null', '10000 f/b']))
  expect(rows()).toEqual(['d', 'b', 'a', 'c'])
})

it('a page that cannot be loaded says why, and is asked for again', async () => {
  let fails = true
  answer = (_, url) => {
    if (url.searchParams.get('cursor') === null)
      return data({ items: [entry('b')], has_more: true, next_cursor: 'f/b', left_out: 1 })
    return fails
      ? [500, { code: 500, message: 'it broke' }]
      : data({ items: [entry('c')], has_more: false, left_out: 0 })
  }
  render(tree())
  expect(await screen.findByText(/it broke/)).toBeTruthy()
  fails = false
  fireEvent.click(screen.getByText('Retry'))
  await vi.waitFor(() => expect(rows()).toEqual(['b', 'c']))
})

it('a file is found by its name and opened by keys, in Chinese too', async () => {
  answer = (_, url) =>
    url.pathname.endsWith('/find')
      ? data({
          query: url.searchParams.get('q'),
          items: ['茶/绿茶.md', '绿茶 2.md'].map(path => ({ path, name: path.split('/').at(-1) })),
          more: false,
        })
      : data({ items: [entry('a')], has_more: false, left_out: 0 })
  render(inQueries(<ProjectFiles root={ROOT} />))
  const field = await screen.findByRole('combobox', { name: 'Find a file' })
  fireEvent.change(field, { target: { value: '绿茶 ' } })
  const options = () => screen.getAllByRole('option')
  await vi.waitFor(() => expect(options().map(row => row.title)).toEqual(['茶/绿茶.md', '绿茶 2.md']))
  expect(asked.filter(path => path.includes('/find'))).toEqual([
    'GET /api/projects/tea/find?q=绿茶&limit=100',
  ])
  const active = () => document.getElementById(field.getAttribute('aria-activedescendant') ?? '')?.title
  expect(active()).toBe('茶/绿茶.md')
  fireEvent.keyDown(field, { key: 'Enter', keyCode: 229 })
  expect(useUi.getState().file).toBeNull()
  fireEvent.keyDown(field, { key: 'ArrowDown' })
  expect(active()).toBe('绿茶 2.md')
  fireEvent.keyDown(field, { key: 'Enter' })
  expect(useUi.getState().file).toBe(file('project/tea/绿茶 2.md'))
  // Enter before the list has followed opens nothing of the former list.
  fireEvent.change(field, { target: { value: '茶' } })
  fireEvent.keyDown(field, { key: 'Enter' })
  expect(useUi.getState().file).toBe(file('project/tea/绿茶 2.md'))
  await vi.waitFor(() => expect(useUi.getState().file).toBe(file('project/tea/茶/绿茶.md')))
})

it('links follow a renamed note only when a person says so, and can be undone', async () => {
  const updated = {
    files: [{ path: 'a.md', etag: 'e', links: [{ at: 2, now: 'New', was: 'Old' }] }],
    more: false,
  }
  answer = (request, url) => {
    if (url.pathname === '/api/files/rename') return [200, { path: 'project/tea/New.md', etag: 'e2' }]
    if (request.method === 'GET') return data({ count: 1, files: 1 })
    return data(updated)
  }
  await rename(file('project/tea/Old.md'), file('project/tea/New.md'))
  const last = () => useToasts.getState().list.at(-1)
  await vi.waitFor(() => expect(last()?.text).toBe('Update 1 link in 1 note?'))
  expect(asked).toEqual(['POST /api/files/rename', 'GET /api/projects/tea/links?path=Old.md&new_path=New.md'])
  last()?.action?.run()
  await vi.waitFor(() => expect(last()?.text).toBe('1 link updated in 1 note'))
  last()?.action?.run()
  await vi.waitFor(() => expect(asked.at(-1)).toBe('POST /api/projects/tea/links/undo'))
})
