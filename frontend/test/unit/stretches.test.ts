import { describe, expect, it } from 'vitest'
import type { Chunk } from '@/api/types'
import { chunkOf, stretchesOf, stretchesOfChunks } from '@/features/passages/stretches'

const chunk = (id: string, range: [number, number], text = ''): Chunk => ({
  id,
  range,
  lines: [1, 1],
  text,
  tokens: 1,
  embedded: true,
})

describe('a file cut at the borders of its chunks', () => {
  it('counts bytes, not characters, and loses none', () => {
    const cut = stretchesOf('企鹅 fly\nnot', [chunk('a', [0, 6]), chunk('b', [7, 14])], null)
    expect(cut).toEqual([
      { start: 0, text: '企鹅', chunks: [0], found: false },
      { start: 6, text: ' ', chunks: [], found: false },
      { start: 7, text: 'fly\nnot', chunks: [1], found: false },
    ])
  })
  it('shows the overlap of two chunks', () => {
    const cut = stretchesOf('abcdef', [chunk('a', [0, 4]), chunk('b', [2, 6])], null)
    expect(cut.map(s => [s.text, s.chunks])).toEqual([
      ['ab', [0]],
      ['cd', [0, 1]],
      ['ef', [1]],
    ])
  })
  it('shows a passage that spans two chunks', () => {
    const cut = stretchesOf('abcdef', [chunk('a', [0, 3]), chunk('b', [3, 6])], [2, 5])
    expect(cut.map(s => [s.text, s.chunks, s.found])).toEqual([
      ['ab', [0], false],
      ['c', [0], true],
      ['de', [1], true],
      ['f', [1], false],
    ])
  })
  it('tolerates a file that is shorter than its index says', () => {
    const cut = stretchesOf('abc', [chunk('a', [0, 9]), chunk('b', [9, 20])], [15, 30])
    expect(cut.map(s => s.text).join('')).toBe('abc')
  })
  it('has no stretches if it is empty', () => {
    expect(stretchesOf('', [], null)).toEqual([])
  })
})

it('a file that is not a text is shown chunk by chunk', () => {
  const cut = stretchesOfChunks([chunk('a', [0, 3], 'abc'), chunk('b', [3, 6], 'def')], [2, 4])
  expect(cut.map(s => [s.start, s.text, s.chunks, s.found])).toEqual([
    [0, 'ab', [0], false],
    [2, 'c', [0], true],
    [3, 'd', [1], true],
    [4, 'ef', [1], false],
  ])
})

it('a passage belongs to the chunk that contains most of it', () => {
  const chunks = [chunk('a', [0, 10]), chunk('b', [8, 20]), chunk('c', [20, 30])]
  expect(chunkOf(chunks, [7, 18])).toBe(1)
  expect(chunkOf(chunks, [0, 9])).toBe(0)
  expect(chunkOf(chunks, [40, 50])).toBe(-1)
  expect(chunkOf(chunks, null)).toBe(-1)
})
