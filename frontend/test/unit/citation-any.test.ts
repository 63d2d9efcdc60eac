import { expect, it } from 'vitest'
import { citations, isHomePath, placeOf } from '@/lib/citation'

/** Number of texts; `FUZZ_CASES` overrides it. */
const CASES = Number(process.env.FUZZ_CASES ?? 20_000)

const PARTS = [
  ...[
    'knowledge/',
    'memory/',
    'skills/',
    'workspace/',
    './',
    '../',
    '/',
    'a.md',
    'MEMORY.md',
    'my notes',
    '说明.md',
  ],
  ...[
    ':',
    ':1',
    ':12-20',
    ':7–9',
    '-',
    '–',
    '0',
    '99999999',
    '[',
    ']',
    '[ ',
    ' ]',
    '(',
    ')',
    '，',
    '。',
    ' ',
    '\n',
  ],
  ...[
    '\\',
    '\u007f',
    '\u202e',
    '🦀',
    'é',
    '`',
    '"',
    'https://',
    '@',
    '~',
    'x',
    '_',
    '..',
    '.env',
    ',',
    '!',
    '\u0000',
  ],
]

/** Pseudorandom numbers, the same in every run with one seed (mulberry32). */
function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0
  return below => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

it('the pieces of any text join to it, and a place is always below one of the four folders', () => {
  const seed = Number(process.env.FUZZ_SEED ?? 7)
  const next = numbers(seed)
  let found = 0
  for (let n = 0; n < CASES; n++) {
    const text = Array.from({ length: next(14) }, () => PARTS[next(PARTS.length)]).join('')
    for (const growing of [false, true]) {
      const pieces = citations(text, growing)
      const joined = pieces.map(piece => (typeof piece === 'string' ? piece : piece.text)).join('')
      if (joined !== text) expect(joined, `seed ${seed}`).toBe(text)
      for (const piece of pieces) {
        if (typeof piece === 'string' || 'message' in piece) continue
        found++
        const { path, lines } = piece.place
        const right = isHomePath(path) && lines !== null && lines[0] >= 1 && lines[1] >= lines[0]
        if (!right || path.split('/').includes('..'))
          expect.fail(`seed ${seed}: ${JSON.stringify([text, piece])}`)
      }
    }
    const place = placeOf(text)
    if (place && !isHomePath(place.path)) expect.fail(`seed ${seed}: ${JSON.stringify([text, place])}`)
  }
  expect(found).toBeGreaterThan(CASES / 100)
}, 0) // No timeout: a larger count takes longer.
