import { expect, it } from 'vitest'
import { badPathIn, chosenFolder, readFolder } from '@/features/project/folder'

const file = (path: string, size: number): File => {
  const made = new File(['x'.repeat(size)], path.slice(path.lastIndexOf('/') + 1))
  Object.defineProperty(made, 'webkitRelativePath', { value: path })
  return made
}

it('a chosen folder has its name, its paths and its size', () => {
  const folder = chosenFolder([file('site/a.html', 3), file('site/img/b.png', 4)])
  expect(folder).toMatchObject({ name: 'site', bytes: 7 })
  expect(folder?.files.map(({ path }) => path)).toEqual(['site/a.html', 'site/img/b.png'])
  expect(chosenFolder([])).toBeNull()
})

it('a path that a form would change is found', () => {
  const of = (...paths: string[]) => chosenFolder(paths.map(path => file(path, 1)))
  expect(badPathIn(of('a/茶 1.txt', 'a/.git/x') ?? never())).toBeNull()
  for (const path of ['a/b\\c', 'a/b\nc', 'a/\u007f'])
    expect(badPathIn(of('a/ok', path) ?? never())).toBe(path)
})

const never = (): never => {
  throw new Error('the folder has files')
}

/** What a browser gives for a dropped folder: it lists two entries at a time. */
type Shape = { [name: string]: Shape | number }
const entry = (path: string, shape: Shape | number): FileSystemEntry => {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (typeof shape === 'number') {
    const given = (done: (file: File) => void) => done(file(path, shape))
    return { isDirectory: false, name, fullPath: path, file: given } as unknown as FileSystemEntry
  }
  const createReader = () => {
    const left = Object.entries(shape).map(([name, inner]) => entry(`${path}/${name}`, inner))
    return { readEntries: (done: (batch: FileSystemEntry[]) => void) => done(left.splice(0, 2)) }
  }
  return { isDirectory: true, name, fullPath: path, createReader } as unknown as FileSystemEntry
}

it('a dropped folder is read to its end, in batches', async () => {
  const shape = { 'a.txt': 1, empty: {}, deep: { er: { 'b.txt': 2, 'c.txt': 3, 'd.txt': 4 } } }
  const read: number[] = []
  const root = entry('/top', shape) as FileSystemDirectoryEntry
  const folder = await readFolder(root, n => read.push(n))
  expect(folder).toMatchObject({ name: 'top', bytes: 10 })
  expect(folder.files.map(({ path }) => path).sort()).toEqual([
    'top/a.txt',
    'top/deep/er/b.txt',
    'top/deep/er/c.txt',
    'top/deep/er/d.txt',
  ])
  expect(read.at(-1)).toBe(4)
})
