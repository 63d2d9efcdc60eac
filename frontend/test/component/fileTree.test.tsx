import { fireEvent, render, screen } from '@testing-library/react'
import { beforeEach, expect, it, vi } from 'vitest'
import { FileTree } from '@/features/inspector/FileTree'
import { foldersIn } from '@/features/inspector/tree'
import { file } from '../file'

const FILES = ['workspace/SOUL.md', 'workspace/notes/plan.md', 'workspace/notes/old/past.md'].map(path => ({
  path,
  size: 1,
  modified: 0,
  tokens: 2,
}))
const onOpen = vi.fn()
const onDelete = vi.fn()

const tree = (
  given: { files?: typeof FILES; current?: string; allOpen?: boolean; dirty?: string[] } = {},
) => {
  const folders = foldersIn(given.files ?? FILES, 'workspace')
  return (
    <FileTree
      folderOf={path => ({ content: folders.get(path), problem: null })}
      problemOf={() => null}
      scroller={document.body}
      root="workspace"
      allOpen={given.allOpen ?? false}
      untrusted={[]}
      current={given.current ?? null}
      dirty={new Set(given.dirty)}
      onOpen={onOpen}
      actions={{ onRename: () => {}, onDelete }}
    />
  )
}
const items = () => screen.getAllByRole('treeitem').map(item => item.getAttribute('title'))
const focused = () => document.activeElement?.getAttribute('title')
const press = (key: string) => fireEvent.keyDown(document.activeElement as Element, { key })

// happy-dom has no layout: the list gets the height of a screen, and each row its own.
beforeEach(() => {
  vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockReturnValue(600)
  vi.spyOn(HTMLElement.prototype, 'offsetHeight', 'get').mockReturnValue(28)
  onOpen.mockClear()
})

it('one row is in the tab order, and keys reach the rest and open files and folders', () => {
  render(tree())
  expect(items()).toEqual(['workspace/notes', 'workspace/SOUL.md'])
  expect(screen.getAllByRole('treeitem').map(item => item.tabIndex)).toEqual([0, -1])
  screen.getAllByRole('treeitem')[0]?.focus()
  press('ArrowRight')
  expect(items()).toEqual([
    'workspace/notes',
    'workspace/notes/old',
    'workspace/notes/plan.md',
    'workspace/SOUL.md',
  ])
  press('p')
  expect(focused()).toBe('workspace/notes/plan.md')
  press('Enter')
  expect(onOpen).toHaveBeenCalledExactlyOnceWith(file('workspace/notes/plan.md'))
  press('ArrowLeft')
  press('ArrowLeft')
  expect(focused()).toBe('workspace/notes')
  expect(items()).toHaveLength(2)
})

it('a file opened elsewhere is revealed, and its folder can be closed again', () => {
  render(tree({ current: 'workspace/notes/old/past.md', dirty: ['workspace/notes/old/past.md'] }))
  const item = screen.getByRole('treeitem', { name: /past\.md/ })
  expect(item.getAttribute('aria-selected')).toBe('true')
  expect(item.getAttribute('aria-level')).toBe('3')
  expect(screen.getAllByTitle('Unsaved')).toHaveLength(1)
  fireEvent.click(screen.getByText('old'))
  expect(items()).not.toContain('workspace/notes/old/past.md')
  expect(screen.getByRole('treeitem', { name: /^old/ }).getAttribute('aria-description')).toBe('Unsaved')
  expect(onOpen).not.toHaveBeenCalled()
})

it('search results show in any folder without opening or closing it for later', () => {
  const { rerender } = render(tree())
  const before = items()
  rerender(tree({ allOpen: true }))
  expect(items()).toHaveLength(5)
  fireEvent.click(screen.getByText('notes'))
  fireEvent.click(screen.getByText('old'))
  expect(items()).toHaveLength(5)
  rerender(tree())
  expect(items()).toEqual(before)
})

it('the menu of a row does not open the file', () => {
  render(tree())
  const menu = screen.getByRole('button', { name: 'Actions for workspace/SOUL.md' })
  fireEvent.click(menu)
  fireEvent.keyDown(menu, { key: 'Enter' })
  expect(onOpen).not.toHaveBeenCalled()
})

const MANY = Array.from({ length: 50_000 }, (_, i) => ({
  path: `workspace/file-${i}.md`,
  size: 1,
  modified: 0,
  tokens: 2,
}))

it('a large folder renders few rows and keeps its height', () => {
  render(tree({ files: MANY }))
  const drawn = screen.getAllByRole('treeitem')
  expect(drawn.length).toBeLessThan(60)
  expect(drawn[0]?.getAttribute('aria-setsize')).toBe('50000')
})

it('keys reach rows that are not rendered', () => {
  render(tree({ files: MANY }))
  screen.getAllByRole('treeitem')[0]?.focus()
  press('End')
  expect(focused()).toBe('workspace/file-49999.md')
  press('ArrowUp')
  expect(focused()).toBe('workspace/file-49998.md')
  press('Home')
  expect(focused()).toBe('workspace/file-0.md')
  expect(screen.getAllByRole('treeitem').length).toBeLessThan(60)
}, 20_000)
