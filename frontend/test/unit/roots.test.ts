import { expect, test } from 'vitest'
import { canBeAlways } from '@/features/approvals/title'
import { matching, treeRows } from '@/features/inspector/tree'
import { parseFileRef, ROOTS, rootOf, traitsOf } from '@/lib/roots'

test('path_parses_into_root_and_path_below_it', () => {
  expect(parseFileRef('skills/weather/SKILL.md')).toEqual({ root: 'skills', path: 'weather/SKILL.md' })
  for (const path of ['skillset/a.md', 'skills', '/skills/a.md', 'constructor/a', '']) {
    expect(parseFileRef(path), path).toBeNull()
    expect(traitsOf(path), path).toBeNull()
    expect(rootOf(path), path).toBe('workspace')
  }
})

test('only_memory_and_knowledge_are_searched_and_only_skills_are_trusted', () => {
  const having = (trait: 'searched' | 'trust') => ROOTS.filter(root => traitsOf(`${root}/a`)?.[trait])
  expect(having('searched')).toEqual(['memory', 'knowledge'])
  expect(having('trust')).toEqual(['skills'])
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

test('filtered_files_keep_the_order_of_the_tree', () => {
  const files = ['w/a10.md', 'w/b10/x.md', 'w/a2.md', 'w/b2/y.txt', 'w/b2/x.md'].map(path => ({
    path,
    size: 1,
    modified: 0,
    tokens: 1,
  }))
  const found = matching(files, 'w', file => file.path.endsWith('.md'))
  const names = treeRows(found, 'w', () => true).map(row => row.name)
  expect(names).toEqual(['b2', 'x.md', 'b10', 'x.md', 'a2.md', 'a10.md'])
})
