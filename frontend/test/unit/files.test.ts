import { Text } from '@codemirror/state'
import { expect, it, vi } from 'vitest'
import { ApiError } from '@/api/client'
import type { TextTokens } from '@/api/types'
import { budgetOf } from '@/features/editor/budget'
import { cutAt } from '@/features/editor/cut'
import { fileNamed, nameIn, renamed, uploadTo } from '@/features/inspector/names'
import { MOST_BYTES, uploadOne } from '@/features/inspector/upload'
import { file } from '../file'

it('a name resolves to a path of its folder, or to none', () => {
  expect(fileNamed('memory', 'plans/autumn')).toBe(file('memory/plans/autumn.md'))
  expect(['../x', '.env', 'a/.b', '', 'a//b', 'a/..'].map(name => fileNamed('memory', name))).toEqual(
    Array(6).fill(null),
  )
  expect(nameIn(file('skills/tea/SKILL.md'))).toBe('tea')
  expect(nameIn(file('knowledge/a/b.md'))).toBe('a/b.md')
  expect(renamed(file('skills/tea/SKILL.md'), 'green-tea')).toBe(file('skills/green-tea/SKILL.md'))
  expect(renamed(file('skills/tea/SKILL.md'), 'Green Tea')).toBeNull()
  expect(renamed(file('knowledge/a/b.md'), ' 茶/c.md ')).toBe(file('knowledge/茶/c.md'))
  expect(renamed(file('knowledge/a/b.md'), '../c.md')).toBeNull()
  expect(uploadTo('skills', 'Weather.md')).toBe(file('skills/weather/SKILL.md'))
  expect([uploadTo('skills', 'SKILL.md'), uploadTo('skills', 'a.txt')]).toEqual([null, null])
  expect([uploadTo('memory', '.env'), uploadTo('memory', 'a.txt')]).toEqual([null, file('memory/a.txt')])
})

it('an upload takes texts, overwrites nothing, and reports failures', async () => {
  const write = vi.fn(async (_: string, __: string) => ({}))
  const put = (name: string, content: BlobPart) => uploadOne('memory', new File([content], name), write)
  expect(await put('a.md', '茶')).toEqual({ kind: 'done', file: file('memory/a.md') })
  expect(write).toHaveBeenLastCalledWith('memory/a.md', '茶')
  const reasons = [
    await put('.env', 'KEY=1'),
    await put('a.pdf', new Uint8Array([0x25, 0xff, 0xfe])),
    await put('a.bin', 'a\0b'),
    await put('big.md', 'x'.repeat(MOST_BYTES + 1)),
  ]
  expect(reasons.map(result => result.kind)).toEqual(Array(4).fill('refused'))
  expect(write).toHaveBeenCalledTimes(1)
  const taken = async () => {
    throw new ApiError(412, { code: 'changed_on_disk' })
  }
  const refused = await uploadOne('memory', new File(['x'], 'a.md'), taken)
  expect(refused).toMatchObject({ kind: 'refused', reason: expect.stringContaining('memory/a.md') })
})

it('the cut is where the server cuts: after a number of characters of the trimmed text', () => {
  const at = (text: string, limit: number) => cutAt(Text.of(text.split('\n')), limit)
  expect(at('abcdef', 6)).toBeNull()
  expect(at('abcdef', 4)).toBe(4)
  expect(at('\n  abcd', 4)).toBeNull()
  expect(at('\n  abcde', 4)).toBe(7)
  expect(at('abcd\n\n\n', 4)).toBeNull()
  expect(at('🐧🐧🐧', 2)).toBe(4)
})

it('the budget is exact for counted text and estimated for other text', () => {
  const answer: TextTokens = {
    tokens: 3,
    characters: 12,
    prompt_tokens: 8,
    share: 'each',
    limit: 20,
    truncated: false,
  }
  const counted = { text: 'twelve chars', answer }
  expect(budgetOf('twelve chars', null)).toBeNull()
  expect(budgetOf('twelve chars', counted)).toMatchObject({ tokens: 8, exact: true, truncated: false })
  const longer = budgetOf('x'.repeat(40), counted)
  expect(longer).toMatchObject({ tokens: 10, exact: false, characters: 40, truncated: true })
  const empty = { text: '', answer: { ...answer, tokens: 0, share: 'found' as const } }
  expect(budgetOf('字'.repeat(40), empty)).toMatchObject({ tokens: 40, exact: false, truncated: false })
})

it('the estimate changes only by the changed range', () => {
  const saved = 'A line that the server counted.\n'.repeat(1000)
  const answer: TextTokens = {
    tokens: 7001,
    characters: saved.length,
    prompt_tokens: 0,
    share: 'found',
    limit: 20_000,
    truncated: false,
  }
  const tokens = (text: string) => budgetOf(text, { text: saved, answer })?.tokens
  expect(tokens(`${saved}more`)).toBe(7002)
  expect(tokens(saved.slice(0, -4))).toBe(7000)
  expect(tokens('')).toBe(0)
})
