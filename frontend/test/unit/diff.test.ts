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

const SEVERAL = `--- a.txt
+++ /dev/null
@@ -1 +0,0 @@
--- x
--- /dev/null
+++ b.txt
@@ -0,0 +1 @@
+++ y
--- c.bin
+++ c.bin
binary file, 4 bytes
`

it('a diff of several files names each, and no changed line is taken for a name', () => {
  expect(diffLines(SEVERAL)).toEqual([
    { kind: 'file', text: 'a.txt', change: 'deleted' },
    { kind: 'place', text: '@@ -1 +0,0 @@' },
    { kind: 'removed', text: '-- x' },
    { kind: 'file', text: 'b.txt', change: 'created' },
    { kind: 'place', text: '@@ -0,0 +1 @@' },
    { kind: 'added', text: '++ y' },
    { kind: 'file', text: 'c.bin', change: 'changed' },
    { kind: 'same', text: 'binary file, 4 bytes' },
  ])
})
