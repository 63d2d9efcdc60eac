import { QueryClientProvider } from '@tanstack/react-query'
import { act, fireEvent, render, screen } from '@testing-library/react'
import { beforeEach, expect, it, vi } from 'vitest'
import { keys, queryClient } from '@/api/queries'
import { Files } from '@/features/inspector/Files'
import { setFold } from '@/stores/folds'
import { serve } from '../fetch'

const entry = (path: string) => ({ path, size: 1, modified: 0, tokens: 2, etag: 'e' })
const folder = (path: string, folders: string[], files: string[], left_out = 0) => ({
  path,
  folders: folders.map(name => ({ path: `${path}/${name}`, tokens: null })),
  files: files.map(name => entry(`${path}/${name}`)),
  left_out,
})
const FOLDERS = [
  folder('workspace', ['app', 'closed'], ['SOUL.md']),
  folder('workspace/app', ['src'], ['README.md'], 12),
]

let asked: string[]
beforeEach(() => {
  queryClient.clear()
  vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockReturnValue(600)
  vi.spyOn(HTMLElement.prototype, 'offsetHeight', 'get').mockReturnValue(28)
  asked = []
  serve(({ path }) => {
    const { pathname, searchParams } = new URL(path, location.href)
    if (!pathname.startsWith('/api/files/')) return [200, { skills: [], untrusted: [] }]
    asked.push(decodeURIComponent(path).slice('/api/files/'.length))
    if (pathname === '/api/files/find')
      return [200, { files: [entry('workspace/app/src/deep.md')], more: true }]
    const found = FOLDERS.find(({ path }) => path === searchParams.get('path'))
    return found ? [200, found] : [403, { code: 'odd', message: 'it may not be read' }]
  })
})

const view = (filter = '') => (
  <QueryClientProvider client={queryClient}>
    <Files
      root="workspace"
      problemOf={() => null}
      current={null}
      dirty={new Set()}
      onOpen={() => {}}
      actions={{ onRename: () => {}, onDelete: () => {} }}
      filter={filter}
    />
  </QueryClientProvider>
)
const rows = () => screen.getAllByRole('treeitem').map(row => row.textContent)

it('a folder loads when it is opened', async () => {
  render(view())
  await screen.findByText('app')
  expect(asked).toEqual(['folder?path=workspace'])
  fireEvent.click(screen.getByText('app'))
  await screen.findByText('README.md')
  expect(asked.slice(1)).toEqual(['folder?path=workspace/app'])
  expect(screen.getByText('12 more not shown. Filter by name to find them.')).toBeTruthy()
  act(() => setFold('folder:workspace/app/src', true))
  await vi.waitFor(() => expect(screen.getByTitle('it may not be read')).toBeTruthy(), { timeout: 3_000 })
  // Changed folders are read again if they are open, and no others.
  asked.length = 0
  await act(() => queryClient.invalidateQueries({ queryKey: keys.files }))
  expect(new Set(asked)).toEqual(
    new Set(FOLDERS.map(({ path }) => `folder?path=${path}`).concat('folder?path=workspace/app/src')),
  )
})

it('search finds files in folders that were never opened', async () => {
  render(view('deep'))
  await screen.findByText('deep.md')
  expect(asked).toEqual(['find?words=deep&root=workspace'])
  expect(rows().map(text => text?.replace(/\d.*/, ''))).toEqual([
    'app',
    'src',
    'deep.md',
    'There may be more matches. Refine the filter.',
  ])
})
