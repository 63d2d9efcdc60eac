import { QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'
import { keys, queryClient } from '@/api/queries'
import type { FileEntry, Skill } from '@/api/types'
import { Files } from '@/features/inspector/Files'
import { isSkill } from '@/features/inspector/names'
import { MOST_FILES, removeSkill, renameSkill } from '@/features/inspector/skill'
import { useToasts } from '@/stores/toasts'
import { serve as serveCalls } from '../fetch'
import { file } from '../file'

const entry = (path: string, tokens: number | null = 7): FileEntry => ({
  path,
  size: 1,
  modified: 1,
  tokens,
  etag: tokens === null ? null : `e-${path}`,
})
const TEA = 'skills/tea/SKILL.md'
const script = entry('skills/tea/scripts/brew.py')
const picture = entry('skills/tea/leaf.png', null)
const other = entry('skills/teapot/SKILL.md')

/** A server that has these files and refuses requests for one of them. */
function serve(files: FileEntry[], refused?: string): string[] {
  const asked: string[] = []
  useToasts.setState({ list: [] })
  serveCalls(({ method, path: url, body }) => {
    const { pathname, searchParams } = new URL(url, 'http://x')
    if (pathname === '/api/files/list') return [200, { root: 'skills', files }]
    const { from, to, trash } = (body ?? {}) as Record<string, string | undefined>
    const path = from ?? trash ?? searchParams.get('path')
    if (method === 'GET') return [200, { path, content: '', etag: 'e' }]
    asked.push([method, path, to].filter(Boolean).join(' '))
    if (path === refused) return [409, { code: 'exists', error: 'taken' }]
    return [200, { path: to ?? path, etag: 'e', trash: path }]
  })
  return asked
}
const toasts = () => useToasts.getState().list

it('renaming a skill moves the files beside its SKILL.md, and no other skill', async () => {
  const asked = serve([entry(TEA), script, picture, other])
  expect(await renameSkill(file(TEA), file('skills/chai/SKILL.md'))).toBeNull()
  expect(asked).toEqual([
    `POST ${TEA} skills/chai/SKILL.md`,
    'POST skills/tea/scripts/brew.py skills/chai/scripts/brew.py',
    'POST skills/tea/leaf.png skills/chai/leaf.png',
  ])
  expect(toasts()).toEqual([])
})

it('nothing moves if SKILL.md cannot, and files that stay are named', async () => {
  const asked = serve([entry(TEA), script], TEA)
  expect(await renameSkill(file(TEA), file('skills/chai/SKILL.md'))).not.toBeNull()
  expect(asked).toHaveLength(1)
  serve([entry(TEA), script, picture], script.path)
  expect(await renameSkill(file(TEA), file('skills/chai/SKILL.md'))).toBeNull()
  expect(toasts().map(({ tone }) => tone)).toEqual(['bad'])
  expect(toasts()[0]?.text).toContain(script.path)
})

it('a skill is deleted with all its files, and one toast restores all of them', async () => {
  const asked = serve([entry(TEA), script, picture, other])
  await removeSkill(file(TEA))
  expect(asked).toEqual([TEA, script.path, picture.path].map(path => `DELETE ${path}`))
  expect(toasts().map(({ text }) => text)).toEqual(['Deleted skill tea (3 files)'])
  toasts()[0]?.action?.run()
  await vi.waitFor(() =>
    expect(asked.slice(3)).toEqual([TEA, script.path, picture.path].map(p => `POST ${p}`)),
  )
})

it('a skill of one file is deleted like any file, and one of too many is not deleted', async () => {
  const asked = serve([entry(TEA), other])
  await removeSkill(file(TEA))
  expect([asked, toasts()[0]?.text]).toEqual([[`DELETE ${TEA}`], `Deleted ${TEA}`])
  const many = Array.from({ length: MOST_FILES }, (_, i) => entry(`skills/tea/${i}.md`))
  const none = serve([entry(TEA), ...many])
  await removeSkill(file(TEA))
  expect([none, toasts()[0]?.tone]).toEqual([[], 'bad'])
})

it('a skill shows the tokens of its SKILL.md', () => {
  const skill = { name: 'tea', description: 'Makes tea.', location: TEA } as Skill
  queryClient.setQueryData(keys.root('skills'), [entry(TEA, 1234), script])
  queryClient.setQueryData(keys.skills, { skills: [skill], untrusted: [] })
  const nothing = { filter: '', current: null, dirty: new Set<string>(), problemOf: () => null }
  const actions = { onRename: () => {}, onDelete: () => {} }
  render(
    <QueryClientProvider client={queryClient}>
      <Files root="skills" onOpen={() => {}} {...{ ...nothing, actions }} />
    </QueryClientProvider>,
  )
  expect(screen.getByTitle(TEA).textContent).toContain('1,234 tokens')
  expect(isSkill(file(TEA)) && !isSkill(file(script.path))).toBe(true)
})
