import { expect, it } from 'vitest'
import type { ChangedFile, FileVersionFacts } from '@/api/types'
import { callsOf, contentOf, modeChange, NOT_SHOWN } from '@/features/changes/kinds'
import { changeRows, firstOf, matching } from '@/features/changes/tree'
import { moveBy } from '@/features/inspector/tree'

const version = (given: Partial<FileVersionFacts> = {}): FileVersionFacts => ({
  content: 'text',
  size: 1,
  hash: 'h',
  executable: false,
  ...given,
})
const file = (path: string, given: Partial<ChangedFile> = {}): ChangedFile => ({
  path,
  kind: 'changed',
  before: version(),
  after: version({ hash: 'i' }),
  added: 1,
  removed: 0,
  works: [],
  changed_since: false,
  deleted_since: false,
  undo: 'possible',
  ...given,
})
it('a file of the folder of commands is in the folder that people know, and keeps its path', () => {
  const files = [file('project/scratch/src/a.rs'), file('memory/a.md')]
  const rows = changeRows(files, () => true)
  expect(rows.map(({ path, name }) => [path, name])).toEqual([
    ['memory', 'memory'],
    ['memory/a.md', 'a.md'],
    ['scratch', 'scratch'],
    ['scratch/src', 'src'],
    ['project/scratch/src/a.rs', 'a.rs'],
  ])
  expect(matching(files, 'scratch/src')).toEqual([files[0]])
  expect(matching(files, 'project')).toEqual([])
})

const FILES = ['memory/a.md', 'knowledge/deep/10.md', 'knowledge/deep/9.md', 'knowledge/z.md'].map(path =>
  file(path),
)

it('changed files are rows by folders, with folders first and numbers in order', () => {
  const rows = changeRows(FILES, () => true)
  expect(
    rows.map(({ name, level, position, siblings, count }) => [name, level, position, siblings, count]),
  ).toEqual([
    ['knowledge', 1, 1, 2, 3],
    ['deep', 2, 1, 2, 2],
    ['9.md', 3, 1, 2, 1],
    ['10.md', 3, 2, 2, 1],
    ['z.md', 2, 2, 2, 1],
    ['memory', 1, 2, 2, 1],
    ['a.md', 2, 1, 1, 1],
  ])
  expect(firstOf(FILES)?.path).toBe('knowledge/deep/9.md')
  expect(firstOf([])).toBeNull()
})

it('a folder that changed itself has one row, with its change', () => {
  const made = { kind: 'created', before: null, after: version({ content: 'folder' }) } as const
  const files = [
    file('project/scratch/new', made),
    file('project/scratch/new/empty', made),
    file('project/scratch/new/a.txt'),
  ]
  const rows = changeRows(files, () => true)
  expect(rows.map(row => [row.path, row.kind, row.file?.kind ?? null, row.siblings])).toEqual([
    ['scratch', 'folder', null, 1],
    ['scratch/new', 'folder', 'created', 1],
    ['project/scratch/new/a.txt', 'file', 'changed', 2],
    ['project/scratch/new/empty', 'file', 'created', 2],
  ])
  expect(firstOf(files)?.path).toBe('project/scratch/new/a.txt')
})

it('a closed folder hides its files, and keys move among the rows that are left', () => {
  const rows = changeRows(FILES, folder => folder !== 'knowledge')
  expect(rows.map(row => row.path)).toEqual(['knowledge', 'memory', 'memory/a.md'])
  expect(moveBy('ArrowDown', rows, 0)).toEqual({ to: 1 })
  expect(moveBy('ArrowRight', rows, 0)).toBe('toggle')
  expect(moveBy('ArrowLeft', rows, 2)).toEqual({ to: 1 })
})

it('the filter finds paths without regard to case, and the old path of a renamed file', () => {
  const files = [
    file('memory/New.md', { kind: 'renamed', renamed_from: 'memory/old.md' }),
    file('memory/x.md'),
  ]
  expect(matching(files, ' NEW ')).toEqual([files[0]])
  expect(matching(files, 'old')).toEqual([files[0]])
  expect(matching(files, '')).toEqual(files)
  expect(matching(files, 'none')).toEqual([])
})

it('both versions must be text to be compared, and pictures to be shown', () => {
  const of = (before: FileVersionFacts | null, after: FileVersionFacts | null) =>
    contentOf(file('x', { before, after }))
  const [picture, binary] = [version({ content: 'picture' }), version({ content: 'binary' })]
  expect(of(version(), version())).toBe('text')
  expect(of(null, version())).toBe('text')
  expect(of(picture, null)).toBe('picture')
  expect(of(picture, version())).toBe('binary')
  expect(of(binary, binary)).toBe('binary')
  expect(of(version(), version({ content: 'too_large' }))).toBe('too_large')
  expect(of(version({ content: 'damaged' }), version({ content: 'too_large' }))).toBe('damaged')
  expect(of(version(), version({ content: 'not_kept' }))).toBe('not_kept')
  expect(of(version({ content: 'dropped' }), version({ content: 'not_kept' }))).toBe('dropped')
})

it('links and folders are shown for themselves, also where they replace a file', () => {
  const [link, folder] = [version({ content: 'link' }), version({ content: 'folder' })]
  expect(contentOf({ before: null, after: link })).toBe('link')
  expect(contentOf({ before: version(), after: link })).toBe('link')
  expect(contentOf({ before: folder, after: null })).toBe('folder')
  expect(contentOf({ before: folder, after: version() })).toBe('folder')
  expect([NOT_SHOWN.link, NOT_SHOWN.folder, NOT_SHOWN.not_kept]).toEqual([null, null, 'changeNotKept'])
  // A folder can be entered: that is not the bit of a program.
  expect(modeChange({ before: null, after: { ...folder, executable: true } })).toBeNull()
})

it('a changed executable bit is told, except of a deleted file', () => {
  const executable = version({ executable: true })
  const of = (before: FileVersionFacts | null, after: FileVersionFacts | null) =>
    modeChange(file('x', { before, after }))
  expect(of(version(), executable)).toBe('changeExecutable')
  expect(of(null, executable)).toBe('changeExecutable')
  expect(of(executable, version())).toBe('changeNotExecutable')
  expect(of(executable, executable)).toBeNull()
  expect(of(executable, null)).toBeNull()
})

it('the calls of a file are those of its works, oldest first', () => {
  const works = [
    { work_id: 'w1', calls: ['a', 'b'] },
    { work_id: 'w2', calls: ['c'] },
  ]
  expect(callsOf(file('x', { works }))).toEqual(['a', 'b', 'c'])
})
