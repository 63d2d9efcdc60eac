import { QueryClientProvider } from '@tanstack/react-query'
import { act, fireEvent, render, screen } from '@testing-library/react'
import { beforeEach, expect, it, vi } from 'vitest'
import { keys, queryClient } from '@/api/queries'
import { onFileChanged, onFolderChanged } from '@/app/diskChanges'
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
let listed: ReturnType<typeof folder>[]
beforeEach(() => {
  queryClient.clear()
  vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockReturnValue(600)
  vi.spyOn(HTMLElement.prototype, 'offsetHeight', 'get').mockReturnValue(28)
  asked = []
  listed = FOLDERS
  serve(({ path }) => {
    const { pathname, searchParams } = new URL(path, location.href)
    if (!pathname.startsWith('/api/files/')) return [200, { skills: [], untrusted: [] }]
    asked.push(decodeURIComponent(path).slice('/api/files/'.length))
    if (pathname === '/api/files/find')
      return [200, { files: [entry('workspace/app/src/deep.md')], more: true }]
    const found = listed.find(({ path }) => path === searchParams.get('path'))
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
  await vi.waitFor(() => expect(screen.getByTitle('it may not be read')).toBeTruthy())
  // Changed folders are read again if they are open, and no others.
  asked.length = 0
  await act(() => queryClient.invalidateQueries({ queryKey: keys.files }))
  expect(new Set(asked)).toEqual(
    new Set(FOLDERS.map(({ path }) => `folder?path=${path}`).concat('folder?path=workspace/app/src')),
  )
})

/** Reports changed files, and resolves when everything that was asked for because of them has arrived. */
async function changed(report: () => void) {
  asked.length = 0
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  report()
  vi.runAllTimers()
  vi.useRealTimers()
  await vi.waitFor(() => expect(queryClient.isFetching()).toBe(0))
  return asked
}

it('a changed file lists only the folders above it again', async () => {
  const names = Array.from({ length: 50 }, (_, i) => `f${i}`)
  listed = [folder('workspace', names, []), ...names.map(name => folder(`workspace/${name}`, [], ['a.md']))]
  for (const name of names) setFold(`folder:workspace/${name}`, true)
  render(view())
  await vi.waitFor(() => expect(asked).toHaveLength(51))
  expect(await changed(() => onFileChanged('workspace/f7/a.md'))).toEqual([
    'folder?path=workspace',
    'folder?path=workspace/f7',
  ])
  expect(await changed(() => onFileChanged('workspace/new/deep/b.md'))).toEqual(['folder?path=workspace'])
  expect(await changed(() => onFileChanged('memory/a.md'))).toEqual([])
  expect(await changed(onFolderChanged)).toHaveLength(51)
})

it('a search is repeated only if a file of its root has changed', async () => {
  render(view('deep'))
  await screen.findByText('deep.md')
  expect(await changed(() => onFileChanged('memory/a.md'))).toEqual([])
  const find = 'find?words=deep&root=workspace'
  expect(await changed(() => onFileChanged('workspace/app/deep.md'))).toEqual([find])
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
