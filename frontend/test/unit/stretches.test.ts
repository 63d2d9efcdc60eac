import { describe, expect, it } from 'vitest'
import type { Chunk } from '@/api/retrieval'
import { chunkOf, stretchesOf } from '@/features/playground/stretches'

const chunk = (id: string, range: [number, number], lines: [number, number], text = ''): Chunk => ({
  id,
  range,
  lines,
  text,
  tokens: 1,
  embedded: true,
})

describe('a file cut at the borders of its chunks', () => {
  it('counts bytes, not characters, and loses none', () => {
    const text = '企鹅 fly\nnot'
    const cut = stretchesOf(text, [chunk('a', [0, 6], [1, 1]), chunk('b', [7, 14], [1, 2])])
    expect(cut).toEqual([
      { start: 0, text: '企鹅', chunks: [0] },
      { start: 6, text: ' ', chunks: [] },
      { start: 7, text: 'fly\nnot', chunks: [1] },
    ])
  })
  it('shows what two chunks share', () => {
    const cut = stretchesOf('abcdef', [chunk('a', [0, 4], [1, 1]), chunk('b', [2, 6], [1, 1])])
    expect(cut.map(s => [s.text, s.chunks])).toEqual([
      ['ab', [0]],
      ['cd', [0, 1]],
      ['ef', [1]],
    ])
  })
  it('survives a file that became shorter than its index says', () => {
    const cut = stretchesOf('abc', [chunk('a', [0, 9], [1, 1]), chunk('b', [9, 20], [2, 3])])
    expect(cut.map(s => s.text).join('')).toBe('abc')
  })
  it('of an empty file there is nothing', () => {
    expect(stretchesOf('', [])).toEqual([])
  })
})

it('a hit is of the chunk with its text, else with its lines, else of one that touches them', () => {
  const chunks = [
    chunk('a', [0, 4], [1, 1], 'one'),
    chunk('b', [4, 8], [1, 1], 'two'),
    chunk('c', [8, 9], [4, 6], 'three'),
  ]
  expect(chunkOf(chunks, { lines: [1, 1], text: 'two' })).toBe(1)
  expect(chunkOf(chunks, { lines: [1, 1], text: 'changed' })).toBe(0)
  expect(chunkOf(chunks, { lines: [5, 9], text: 'three' })).toBe(2)
  expect(chunkOf(chunks, { lines: [7, 9], text: '' })).toBe(-1)
  expect(chunkOf(chunks, { lines: null, text: 'one' })).toBe(-1)
})
