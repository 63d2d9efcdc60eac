import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { canBeAlways } from '@/features/approvals/standing'
import { fileNamed, folderNamed } from '@/features/inspector/names'
import {
  FileRef,
  foldersOf,
  isBelow,
  isSearchFolder,
  nameProjects,
  PROJECT_TAB,
  projectOf,
  projectRoot,
  ROOT_TRAITS,
  ROOTS,
  SEARCH_FOLDERS,
  shownPath,
  tabOf,
  withShownPaths,
} from '@/lib/roots'

test('a path parses into a root and the path below it', () => {
  const skill = FileRef.parse('skills/weather/SKILL.md')
  expect(skill).toMatchObject({ root: 'skills', path: 'weather/SKILL.md' })
  expect(`${skill}`).toBe('skills/weather/SKILL.md')
  expect(skill?.traits).toBe(ROOT_TRAITS.skills)
  for (const path of ['skillset/a.md', 'skills', 'skills/', '/skills/a.md', 'constructor/a', ''])
    expect(FileRef.parse(path), path).toBeNull()
})

test('the same file is the same object', () => {
  expect(FileRef.of('memory', 'a.md')).toBe(FileRef.parse('memory/a.md'))
  expect(FileRef.of('memory', 'a.md')).not.toBe(FileRef.of('knowledge', 'a.md'))
})

test('a folder contains the paths below it, and none that only begins like it', () => {
  expect(isBelow('skills/tea', 'skills/tea/scripts/brew.py')).toBe(true)
  expect(['skills/tea', 'skills/teapot/a.md'].map(path => isBelow('skills/tea', path))).toEqual([
    false,
    false,
  ])
})

test('a path is shown as people know it, and never as that of another folder', () => {
  expect(shownPath('project/scratch/src/a.txt')).toBe('scratch/src/a.txt')
  for (const path of [
    'memory/a.md',
    'project/memory/a.md',
    'project/scratch',
    'project/scratchy/a',
    'scratch/a',
  ])
    expect(shownPath(path)).toBe(path)
  expect(withShownPaths('“project/scratch/a” and project/scratch/b, not a/project/scratch/c')).toBe(
    '“scratch/a” and scratch/b, not a/project/scratch/c',
  )
})

test('only memory and knowledge are searched, and only skills are trusted', () => {
  expect(ROOTS.filter(isSearchFolder)).toEqual(['memory', 'knowledge'])
  expect(SEARCH_FOLDERS).toEqual(['knowledge', 'memory'])
  expect(['skills', 'knowledge/', 'archive', '', null].filter(isSearchFolder)).toEqual([])
  expect(ROOTS.filter(root => ROOT_TRAITS[root].trust)).toEqual(['skills'])
})

/** Matches code that names a root, or examines by itself how a path begins. */
const ANY = `(?:${ROOTS.join('|')})`
const PREFIX = new RegExp(
  `startsWith\\(['"\`]${ANY}|/\\^${ANY}\\b|['"\`]${ANY}(?:/|\\\\/)|${ANY}\\|${ANY}|(['"\`])${ANY}\\1`,
)

test('only the table of roots names them and examines how paths begin', () => {
  expect("path.startsWith('skills/')").toMatch(PREFIX)
  expect('/^skills\\/a/.test(path)').toMatch(PREFIX)
  expect('(?:memory|skills|workspace|knowledge)/').toMatch(PREFIX)
  for (const quote of ["'", '"', '`']) expect(`tab: ${quote}memory${quote},`).toMatch(PREFIX)
  for (const harmless of ["t('skillsHint')", 'ROOT_TRAITS.memory', "keys.skills: ['skill-list']"])
    expect(harmless).not.toMatch(PREFIX)
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
    name => /\.tsx?$/.test(name) && !/^locales|schema\.d\.ts$|^lib\/roots\.ts$/.test(name),
  )
  const code = (name: string) =>
    readFileSync(`src/${name}`, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  expect(code('lib/roots.ts')).toMatch(PREFIX)
  expect(files.filter(name => PREFIX.test(code(name)))).toEqual([])
})

test('writes to files that shape the agent are approved each time', () => {
  const can = (path: string) => canBeAlways({ shown: { path } } as Parameters<typeof canBeAlways>[0])
  expect(['workspace/a', 'memory/a', 'skills/a', 'knowledge/a', 'scratch/a'].map(can)).toEqual([
    false,
    false,
    false,
    true,
    true,
  ])
})

test('a file of a project has its project as its root, and is shown with its name', () => {
  const file = FileRef.parse('project/p-1/src/a b.rs')
  expect(file).toMatchObject({ root: 'project/p-1', path: 'src/a b.rs' })
  expect(file).toBe(FileRef.of(projectRoot('p-1'), 'src/a b.rs'))
  expect(file && [projectOf(file.root), tabOf(file.root)]).toEqual(['p-1', PROJECT_TAB])
  expect(foldersOf(`${file}`)).toEqual(['project/p-1/src'])
  expect(foldersOf('project/p-1/a')).toEqual([])
  for (const path of ['project/p-1', 'project/p-1/', 'project//a', 'project/a b/c', 'projects/p-1/a'])
    expect(FileRef.parse(path), path).toBeNull()
  expect(file?.shown).toBe('project/p-1/src/a b.rs')
  nameProjects([{ id: 'p-1', name: '茶 House' }])
  expect(file?.shown).toBe('茶 House/src/a b.rs')
  expect(withShownPaths('there is no project/p-1/x, nor project/p-2/x')).toBe(
    'there is no 茶 House/x, nor project/p-2/x',
  )
})

test('names in projects may begin with a dot, and never climb', () => {
  const root = projectRoot('p-1')
  expect(fileNamed(root, ' .github/workflows/ci.yml ')?.path).toBe('.github/workflows/ci.yml')
  expect(fileNamed(root, 'Makefile')?.path).toBe('Makefile')
  expect(folderNamed(root, 'src/lib/')?.path).toBe('src/lib')
  for (const name of ['', '/a', 'a//b', '../a', 'a/./b', 'a\\b', '~/a', 'a\nb'])
    expect(fileNamed(root, name), name).toBeNull()
})
