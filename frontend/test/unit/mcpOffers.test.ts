import { expect, it } from 'vitest'
import { fileNameOf, wantedAt } from '@/features/mcp/wanted'

it.each([
  ['@', { kind: 'resource', server: '', query: null, from: 0 }],
  ['look at @pet', { kind: 'resource', server: 'pet', query: null, from: 8 }],
  ['@pets:', { kind: 'resource', server: 'pets', query: '', from: 0 }],
  ['a @pets:pets://1', { kind: 'resource', server: 'pets', query: 'pets://1', from: 2 }],
  ['/pets:fe', { kind: 'prompt', server: 'pets', query: 'fe', from: 0 }],
  ['ada@example.com', null],
  ['@pets:1 and', null],
  ['a /pets:feed', null],
  ['/usr/bin', null],
])('%j names %j', (before, wanted) => {
  expect(wantedAt(before)).toEqual(wanted)
})

it('a resource becomes a file with a plain name', () => {
  expect(fileNameOf('pets', 'file:///home/ada/notes.md?x=1')).toBe('pets-notes.md')
  expect(fileNameOf('pets', 'pets://1')).toBe('pets-1.txt')
  expect(fileNameOf('pets', 'x:/../..')).toBe('pets-...txt')
})
