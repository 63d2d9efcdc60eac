import { expect, test } from 'vitest'
import { pasted, readable } from '@/features/mcp/pasted'

test('pasted servers are read with and without what is around them', () => {
  const entries = { memory: { command: 'npx', args: [] } }
  expect(pasted(JSON.stringify({ mcpServers: entries }))).toEqual(entries)
  expect(pasted(JSON.stringify(entries))).toEqual(entries)
})

test('what is no object of servers is refused', () => {
  for (const text of [
    '',
    'npx -y x',
    '[]',
    '{}',
    '{"mcpServers": {}}',
    '{"a": 1}',
    '{"mcpServers": {"a": []}}',
  ])
    expect(pasted(text), text).toBeNull()
})

test('a text that is no JSON is shown as it is', () => {
  expect(readable('{"a":1}')).toBe('{\n  "a": 1\n}')
  expect(readable('{')).toBe('{')
})
