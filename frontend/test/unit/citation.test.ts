import { describe, expect, it } from 'vitest'
import { citations, isHomePath, placeOf } from '@/lib/citation'

/** The citations of a text, as `path:first-last`. */
const cited = (text: string, growing = false) =>
  citations(text, growing).flatMap(piece =>
    typeof piece === 'string'
      ? []
      : 'message' in piece
        ? [`${piece.message.session} ${piece.message.message}`]
        : [`${piece.place.path}:${piece.place.lines?.join('-')}`],
  )

describe('what counts as a citation', () => {
  const yes: [string, string[]][] = [
    ['See [knowledge/a.md:12-20].', ['knowledge/a.md:12-20']],
    [
      'You said so [old-1:01a22139-7906-7700-b54a-2bc3e175269f], and I [old-1:01a22139-7906-7700-b54a-2bc3e175269f.0]',
      ['old-1 01a22139-7906-7700-b54a-2bc3e175269f', 'old-1 01a22139-7906-7700-b54a-2bc3e175269f.0'],
    ],
    ['[abc:m12] in an old file', ['abc m12']],
    ['one line [memory/MEMORY.md:7]', ['memory/MEMORY.md:7-7']],
    ['bare memory/MEMORY.md:7, and on', ['memory/MEMORY.md:7-7']],
    ['(workspace/SOUL.md:1–3)', ['workspace/SOUL.md:1-3']],
    ['说明在knowledge/使用说明.md:4-9。', ['knowledge/使用说明.md:4-9']],
    ['见【knowledge/使用说明.md:4】', ['knowledge/使用说明.md:4-4']],
    ['[knowledge/my notes/a b.md:3]', ['knowledge/my notes/a b.md:3-3']],
    ['[knowledge/a.md:1-2, knowledge/b.md:3]', ['knowledge/a.md:1-2', 'knowledge/b.md:3-3']],
    ['[knowledge/a.md:1][knowledge/b.md:2]', ['knowledge/a.md:1-1', 'knowledge/b.md:2-2']],
    ['knowledge/使用说明.md和memory/MEMORY.md:7', ['memory/MEMORY.md:7-7']],
    ['workspace/memory/x.md:2', ['workspace/memory/x.md:2-2']],
    ['./skills/a/SKILL.md:20-9', ['skills/a/SKILL.md:9-20']],
    ['memory/MEMORY.md:7:3', ['memory/MEMORY.md:7-7']],
  ]
  for (const [text, places] of yes) it(text, () => expect(cited(text)).toEqual(places))

  const no = [
    'knowledge/a.md',
    'see knowledge/a.md: 12 reasons',
    'knowledge/a.md:0',
    'knowledge/a.md:12b',
    'knowledge/a.md:99999999',
    '[knowledge/../.env:1]',
    'memory/../../etc/passwd:1',
    '[/etc/passwd:1]',
    'storage/x.json:1',
    'https://e.com/knowledge/a.md:7',
    'my-knowledge/a.md:7',
    '../memory/MEMORY.md:7',
    '[knowledge/a\u0000.md:1]',
    '[knowledge//a.md:1]',
    'knowledge/:7',
  ]
  for (const text of no) it(`not ${JSON.stringify(text)}`, () => expect(cited(text)).toEqual([]))
})

it('no character is lost or added', () => {
  for (const text of ['a [knowledge/a.md:1] b memory/x.md:2-3 c', '', 'knowledge/a.md:1', '[[memory/a:1]]']) {
    const back = citations(text).map(piece => (typeof piece === 'string' ? piece : piece.text))
    expect(back.join('')).toBe(text)
  }
})

it('in a growing text, a citation appears once and never changes', () => {
  for (const text of [
    'in [knowledge/a.md:12-20] it is',
    'in knowledge/a.md:12-20 it is',
    'see [knowledge/a.md:1-2, memory/b.md:3].',
    '见knowledge/使用说明.md:4-19。',
  ]) {
    let seen: string[] = []
    for (let end = 0; end <= text.length; end++) {
      const now = cited(text.slice(0, end), true)
      expect(now.slice(0, seen.length), text.slice(0, end)).toEqual(seen)
      seen = now
    }
    expect(seen).toEqual(cited(text))
  }
})

it('a whole text may name a place without a line', () => {
  expect(placeOf('knowledge/my notes.md')).toEqual({ path: 'knowledge/my notes.md', lines: null })
  expect(placeOf('[knowledge/a.md:3-4]')).toEqual({ path: 'knowledge/a.md', lines: [3, 4] })
  expect(placeOf('storage/a.md')).toBeNull()
  expect(placeOf('knowledge/../a.md:3')).toBeNull()
})

it('a home path names a file below one of the four folders', () => {
  for (const path of ['memory/MEMORY.md', 'knowledge/b/文.md', 'skills/a b/SKILL.md'])
    expect(isHomePath(path), path).toBe(true)
  for (const path of ['memory', 'memory/', 'memory/./x', 'a/memory/x', 'memory\\x', 'sessions/x.json'])
    expect(isHomePath(path), path).toBe(false)
})
