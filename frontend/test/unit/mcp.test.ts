import { expect, test } from 'vitest'
import { installCommand, pasted, readable } from '@/features/mcp/pasted'
import { answerIn } from '@/features/mcp/signInReturn'

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

test('an npx line becomes the command that installs it once', () => {
  const command = (entry: unknown) => installCommand('memory', JSON.stringify(entry))
  expect(command({ command: 'npx', args: ['-y', '@a/memory@1.2.3'] })).toBe(
    'miniclaw mcp add npm:@a/memory@1.2.3 --as memory',
  )
  expect(command({ command: '/usr/bin/npx', args: ['memory@latest', '/srv', "it's; rm"] })).toBe(
    "miniclaw mcp add npm:memory@VERSION --as memory -- /srv 'it'\\''s; rm'",
  )
  for (const other of [
    { command: 'node', args: ['x'] },
    { command: 'npx' },
    { command: 'npx', args: ['-y', '$(id)'] },
    { url: 'https://x' },
  ])
    expect(command(other)).toBeNull()
})

test('what an authorization server adds to the address is read', () => {
  expect(answerIn('?code=a&state=b&iss=https%3A%2F%2Fx')).toEqual({
    state: 'b',
    code: 'a',
    error: null,
    iss: 'https://x',
  })
  expect(answerIn('?code=a')).toBeNull()
  expect(answerIn('?error=access_denied&state=b')?.error).toBe('access_denied')
})
