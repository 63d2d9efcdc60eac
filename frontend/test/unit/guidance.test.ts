import { expect, it } from 'vitest'
import { guidanceOf, isTrustedByVersion } from '@/lib/guidance'
import { FileRef } from '@/lib/roots'

const file = (path: string) => {
  const found = FileRef.parse(path)
  if (!found) throw new Error(path)
  return found
}

it('guidance of a project is told from its other files', () => {
  const of = (path: string) => guidanceOf(file(path))
  expect(of('project/p1/AGENTS.md')).toBe('project')
  expect(of('project/p1/src/AGENTS.md')).toBe('folder')
  expect(of('project/p1/CLAUDE.md')).toBe('substitute')
  expect(of('project/p1/skills/tea/SKILL.md')).toBe('skill')
  for (const path of ['project/p1/NOT-AGENTS.md', 'project/p1/AGENTS.md.txt', 'workspace/AGENTS.md'])
    expect(of(path), path).toBeNull()
})

it('files of skills and guidance are trusted version by version', () => {
  const those = (path: string) => isTrustedByVersion(file(path))
  expect(those('skills/tea/SKILL.md')).toBe(true)
  expect(those('project/p1/skills/tea/steep.py')).toBe(true)
  expect(those('project/p1/AGENTS.md')).toBe(true)
  expect(those('project/p1/skills.md')).toBe(false)
  expect(those('knowledge/tea.md')).toBe(false)
})
