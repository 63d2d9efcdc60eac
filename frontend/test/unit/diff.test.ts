import { expect, it } from 'vitest'
import { countOf, diffLines } from '@/lib/diff'
import { change } from './approvals'

it('each line is added, removed or unchanged, and the file names are skipped', () => {
  const lines = diffLines(change('memory/MEMORY.md').shown.diff ?? '')
  expect(lines).toEqual([
    { kind: 'place', text: '@@ -1,3 +1,3 @@' },
    { kind: 'same', text: '# Memory' },
    { kind: 'removed', text: 'Tea' },
    { kind: 'added', text: 'Coffee\u202e' },
    { kind: 'same', text: 'The end' },
  ])
  expect([countOf(lines, 'added'), countOf(lines, 'removed')]).toEqual([1, 1])
})

it('a removed line that begins with two dashes is not a file name', () => {
  expect(diffLines('--- a\n+++ b\n@@ -1 +0,0 @@\n--- rule\n').at(-1)).toEqual({
    kind: 'removed',
    text: '-- rule',
  })
})
