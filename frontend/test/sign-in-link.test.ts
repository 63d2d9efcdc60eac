import { expect, test } from 'vitest'
import { codeOf } from '@/features/auth/link'

test('only a whole fragment is a code', () => {
  expect(codeOf('#code=abc123')).toBe('abc123')
  for (const other of ['', '#', '#code=', '#x=abc', '#code=a&b=c', '#code=a/b', 'code=abc', '#Code=abc'])
    expect(codeOf(other)).toBeNull()
})
