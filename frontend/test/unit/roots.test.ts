import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { canBeAlways } from '@/features/approvals/title'
import { FileRef, isBelow, ROOT_TRAITS, ROOTS } from '@/lib/roots'

test('path_parses_into_root_and_path_below_it', () => {
  const skill = FileRef.parse('skills/weather/SKILL.md')
  expect(skill).toMatchObject({ root: 'skills', path: 'weather/SKILL.md' })
  expect(`${skill}`).toBe('skills/weather/SKILL.md')
  expect(skill?.traits).toBe(ROOT_TRAITS.skills)
  for (const path of ['skillset/a.md', 'skills', 'skills/', '/skills/a.md', 'constructor/a', ''])
    expect(FileRef.parse(path), path).toBeNull()
})

test('same_file_is_same_object', () => {
  expect(FileRef.of('memory', 'a.md')).toBe(FileRef.parse('memory/a.md'))
  expect(FileRef.of('memory', 'a.md')).not.toBe(FileRef.of('knowledge', 'a.md'))
})

test('folder_holds_what_is_below_it_and_not_what_begins_like_it', () => {
  expect(isBelow('skills/tea', 'skills/tea/scripts/brew.py')).toBe(true)
  expect(['skills/tea', 'skills/teapot/a.md'].map(path => isBelow('skills/tea', path))).toEqual([
    false,
    false,
  ])
})

test('only_memory_and_knowledge_are_searched_and_only_skills_are_trusted', () => {
  const having = (trait: 'searched' | 'trust') => ROOTS.filter(root => ROOT_TRAITS[root][trait])
  expect(having('searched')).toEqual(['memory', 'knowledge'])
  expect(having('trust')).toEqual(['skills'])
})

/** Where a source asks by a text of its own how a path begins. */
const ANY = `(?:${ROOTS.join('|')})`
const PREFIX = new RegExp(`startsWith\\(['"\`]${ANY}|/\\^${ANY}\\b|['"\`]${ANY}(?:/|\\\\/)|${ANY}\\|${ANY}`)

test('only_the_table_of_roots_knows_how_paths_begin', () => {
  expect("path.startsWith('skills/')").toMatch(PREFIX)
  expect('/^skills\\/a/.test(path)').toMatch(PREFIX)
  expect('(?:memory|skills|workspace|knowledge)/').toMatch(PREFIX)
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
    name => /\.tsx?$/.test(name) && !/^locales|schema\.d\.ts$/.test(name),
  )
  const code = (name: string) =>
    readFileSync(`src/${name}`, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  expect(files.filter(name => PREFIX.test(code(name)))).toEqual([])
})

test('writes_to_what_shapes_the_agent_are_approved_each_time', () => {
  const can = (path: string) => canBeAlways({ shown: { path } } as Parameters<typeof canBeAlways>[0])
  expect(['workspace/a', 'memory/a', 'skills/a', 'knowledge/a', 'scratch/a'].map(can)).toEqual([
    false,
    false,
    false,
    true,
    true,
  ])
})
