import { describe, expect, it } from 'vitest'
import type { FileEntry } from '@/api/types'
import {
  foldersIn,
  moveBy,
  openFolders,
  treeRows as rowsOf,
  type TreeRow,
  typedTo,
} from '@/features/inspector/tree'
import { foldersOf } from '@/lib/roots'

const file = (path: string, tokens: number | null = 1): FileEntry => ({ path, size: 1, modified: 0, tokens })
const FILES = ['w/a10.md', 'w/b/c/deep.md', 'w/b/x.md', 'w/a2.md', 'w/bb/y.md'].map(path => file(path))
const treeRows = (files: readonly FileEntry[], root: string, isOpen: (folder: string) => boolean) => {
  const folders = foldersIn(files, root)
  return rowsOf(path => ({ content: folders.get(path), problem: null }), root, isOpen)
}
const shown = (rows: TreeRow[]) => rows.map(row => `${'  '.repeat(row.level - 1)}${row.name}`)
const open =
  (...folders: string[]) =>
  (folder: string) =>
    folders.includes(folder)

describe('the rows of a tree', () => {
  it('folders come first, closed ones show no content, and numbers sort as numbers', () => {
    expect(shown(treeRows(FILES, 'w', open()))).toEqual(['b', 'bb', 'a2.md', 'a10.md'])
    expect(shown(treeRows(FILES, 'w', open('w/b', 'w/b/c')))).toEqual([
      'b',
      '  c',
      '    deep.md',
      '  x.md',
      'bb',
      'a2.md',
      'a10.md',
    ])
  })
  it('a folder sums the tokens of its content, and every row knows its position', () => {
    const [b, ...rest] = treeRows([...FILES, file('w/b/picture.png', null)], 'w', open())
    expect(b).toMatchObject({ path: 'w/b', tokens: 2, position: 1, siblings: 4, file: null })
    expect(rest.map(row => row.position)).toEqual([2, 3, 4])
  })
  it('with all folders open each file appears once, whatever the names are', () => {
    const names = ['a', 'constructor', '__proto__']
    const below = (folder: string, depth: number): string[] =>
      names.flatMap(name => [
        `${folder}/${name}.md`,
        ...(depth > 1 ? below(`${folder}/${name}`, depth - 1) : []),
      ])
    const paths = below('w', 3)
    const rows = treeRows(
      paths.map(path => file(path)),
      'w',
      () => true,
    )
    const files = rows.filter(row => row.file).map(row => row.path)
    expect(files.toSorted()).toEqual(paths.toSorted())
    expect(new Set(rows.map(row => row.path)).size).toBe(rows.length)
    for (const row of rows) expect(row.path.split('/').length).toBe(row.level + 1)
  })
  it('an open folder waits for its content or says why it has none', () => {
    const folders = foldersIn(FILES, 'w')
    const rows = (problem: string | null) => {
      const folderOf = (path: string) =>
        path === 'w' ? { content: folders.get('w'), problem: null } : { content: undefined, problem }
      return rowsOf(folderOf, 'w', open('w/b'))
    }
    expect(rows(null)[0]).toMatchObject({ path: 'w/b', open: true, loading: true, problem: null })
    expect(rows('not there')[0]).toMatchObject({ loading: false, problem: 'not there' })
    expect(shown(rows(null))).toEqual(['b', 'bb', 'a2.md', 'a10.md'])
    expect(moveBy('ArrowRight', rows(null), 0)).toBeNull()
  })
  it('entries beyond the list share one last row', () => {
    const folders = foldersIn(FILES, 'w', 7)
    const rows = rowsOf(path => ({ content: folders.get(path), problem: null }), 'w', open())
    expect(rows.at(-1)).toMatchObject({ kind: 'rest', leftOut: 7, position: 5, siblings: 5 })
  })
  it('only open folders in open ones are loaded', () => {
    const folders = foldersIn(FILES, 'w')
    const asked = (...paths: string[]) => openFolders(path => folders.get(path), 'w', open(...paths))
    expect(asked()).toEqual(['w'])
    expect(asked('w/b/c')).toEqual(['w'])
    expect(asked('w/b', 'w/b/c', 'w/gone')).toEqual(['w', 'w/b', 'w/b/c'])
  })
  it('a path names the folders that contain it', () => {
    expect(foldersOf('w/b/c/deep.md')).toEqual(['w/b', 'w/b/c'])
    expect(foldersOf('w/a.md')).toEqual([])
    expect(foldersOf('')).toEqual([])
  })
})

describe('keys', () => {
  const rows = treeRows(FILES, 'w', open('w/b', 'w/b/c'))
  it('up and down stop at the ends', () => {
    expect(moveBy('ArrowDown', rows, 0)).toEqual({ to: 1 })
    expect(moveBy('ArrowDown', rows, 6)).toEqual({ to: 6 })
    expect(moveBy('ArrowUp', rows, 0)).toEqual({ to: 0 })
    expect(moveBy('Home', rows, 4)).toEqual({ to: 0 })
    expect(moveBy('End', rows, 4)).toEqual({ to: 6 })
  })
  it('right opens and enters, left leaves and closes', () => {
    expect(moveBy('ArrowRight', rows, 4)).toBe('toggle')
    expect(moveBy('ArrowRight', rows, 0)).toEqual({ to: 1 })
    expect(moveBy('ArrowRight', rows, 2)).toBeNull()
    expect(moveBy('ArrowLeft', rows, 2)).toEqual({ to: 1 })
    expect(moveBy('ArrowLeft', rows, 3)).toEqual({ to: 0 })
    expect(moveBy('ArrowLeft', rows, 0)).toBe('toggle')
    expect(moveBy('ArrowLeft', rows, 6)).toBeNull()
    expect(moveBy('x', rows, 0)).toBeNull()
  })
  it('typed letters find a name, and the same letter again finds the next', () => {
    expect(typedTo('a', rows, 0)).toBe(5)
    expect(typedTo('a', rows, 5)).toBe(6)
    expect(typedTo('aa', rows, 6)).toBe(5)
    expect(typedTo('a1', rows, 5)).toBe(6)
    expect(typedTo('zz', rows, 3)).toBe(3)
  })
})

it('a large folder has the order of a small one', () => {
  const names = ['b.txt', 'file-10', 'file-9', 'File-2', 'file-0100', 'a1b2', 'a1b10']
  const order = (names: string[]) =>
    treeRows(
      names.map(name => file(`w/${name}`)),
      'w',
      () => false,
    )
      .map(row => row.name)
      .filter(name => !name.startsWith('z'))
  const rest = Array.from({ length: 1_000 }, (_, n) => `z${n}`)
  expect(order([...names, ...rest])).toEqual(order(names))
})
