import { expect, it } from 'vitest'
import { originsOf } from '@/features/xray/parts'

it('each piece of a request has its origin, its text by bytes, and its share', () => {
  const system = '# 灵魂\nBe kind.\n# 记忆\nTea.'
  const bytes = (text: string) => new TextEncoder().encode(text).length
  const cut = bytes('# 灵魂\nBe kind.\n')
  const part = { characters: 1, truncated: false, absent: null, unreadable: false }
  const origins = originsOf({
    system,
    parts: [
      { ...part, label: 'Soul', file: 'workspace/SOUL.md', bytes: cut, tokens: 8, start: 0, end: cut },
      { ...part, label: 'Memory', file: null, bytes: 9, tokens: 4, start: cut, end: bytes(system) },
    ],
    ...{ tools_bytes: 20, tools_tokens: 5, total_bytes: 90, total_tokens: 37, messages: 1, left_out: 2 },
    ...{ message_tokens: 10, retrieved_tokens: 10 },
    request: {
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: 'hi' },
      ],
      tools: [{ a: 1 }],
    },
  })
  expect(origins.map(o => [o.kind, o.tokens, o.truncated])).toEqual([
    ['file', 8, false],
    ['text', 4, false],
    ['tools', 5, false],
    ['history', 10, true],
    ['retrieval', 10, false],
  ])
  expect(origins[0]?.text).toBe('# 灵魂\nBe kind.\n')
  expect(origins[1]?.text).toBe('# 记忆\nTea.')
  expect(JSON.parse(origins[3]?.text ?? '')).toEqual([{ role: 'user', content: 'hi' }])
})

it('an unreadable part is distinguished from an omitted one', () => {
  const part = {
    characters: 0,
    truncated: false,
    bytes: 0,
    tokens: 0,
    start: 0,
    end: 0,
    file: 'workspace/SOUL.md',
  }
  const origins = originsOf({
    system: '',
    parts: [
      { ...part, label: 'Soul', absent: 'it is a folder', unreadable: true },
      { ...part, label: 'User Profile', absent: 'File not found', unreadable: false },
    ],
    ...{ tools_bytes: 0, tools_tokens: 0, total_bytes: 0, total_tokens: 0, messages: 0, left_out: 0 },
    ...{ message_tokens: 0, retrieved_tokens: 0 },
    request: {},
  })
  expect(origins.map(o => [o.absent, o.unreadable])).toEqual([
    ['it is a folder', true],
    ['File not found', false],
    [null, false],
    [null, false],
  ])
})
