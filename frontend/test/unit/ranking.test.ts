import { describe, expect, it } from 'vitest'
import { fusedOf, reasonOf, rerank, sumOf } from '@/features/retrieval/ranking'
import { hit, how, search } from './searches'

const order = (w: number, k: number) => rerank(search(), w, k).map(c => c.hit.source.slice(10, -3))

describe('the points of a passage', () => {
  it('are the weighed shares of both sides', () => {
    expect(fusedOf(how(1, 1, 0.82), 0.35)).toBeCloseTo(0.937)
    expect(fusedOf(how(1, null, 0.82), 0.35)).toBeCloseTo(0.287)
  })
  it('count the words for both where there is no vector', () => {
    expect(fusedOf(how(1, 0.8, null), 0.35)).toBeCloseTo(0.8)
    expect(fusedOf(how(1, 0.8, null), 1)).toBeCloseTo(0.8)
  })
  it('are written down as the sum they are', () => {
    const weights = { lexical: 0.65, vector: 0.35 }
    expect(sumOf(how(1, 1, 0.82), weights)).toMatchObject({ vector: [0.35, 0.82], lexical: [0.65, 1] })
    expect(sumOf(how(1, 0.8, null), weights)).toMatchObject({ vector: null, lexical: [1, 0.8] })
    expect(sumOf(how(1, null, 0.5), weights)).toMatchObject({ vector: [0.35, 0.5], lexical: [0.65, 0] })
  })
})

describe('another weight', () => {
  it('gives back the server’s own order, choice and reasons at the server’s own weight', () => {
    const ranked = rerank(search(), 0.35, 2)
    expect(ranked.map(c => [c.rank, c.before, c.chosen])).toEqual([
      [1, 1, true],
      [2, 2, true],
      [3, 3, false],
      [4, 4, false],
    ])
    expect(ranked.map(c => c.miss?.reason)).toEqual([
      undefined,
      undefined,
      'overlaps_a_hit',
      'no_shared_word',
    ])
  })
  it('orders by meaning alone at 1, by words alone at 0', () => {
    expect(order(1, 4)).toEqual(['meaning', 'both', 'words', 'words'])
    expect(order(0, 2)[0]).toBe('words')
  })
  it('says how far a passage has moved', () => {
    const first = rerank(search(), 1, 2)[0]
    expect([first?.rank, first?.before]).toEqual([1, 4])
  })
  it('hands on no passage that overlaps a better one, and the next in its place', () => {
    const ranked = rerank(search(), 0.1, 3)
    expect(ranked.filter(c => c.chosen).map(c => c.hit.source)).toEqual([
      'knowledge/words.md',
      'knowledge/both.md',
      'knowledge/meaning.md',
    ])
    expect(ranked[3]?.miss?.reason).toBe('overlaps_a_hit')
  })
  it('keeps the key of every passage', () => {
    const keys = (w: number) => rerank(search(), w, 2).map(c => c.key)
    expect(new Set(keys(1))).toEqual(new Set(keys(0.35)))
    expect(new Set(keys(1)).size).toBe(4)
  })
  it('tells apart two passages of one long line', () => {
    const twice = search()
    const one = hit('knowledge/line.md', [1, 1], how(1, 1, 1))
    twice.hits = [one, { ...one, text: 'the second half' }]
    expect(new Set(rerank(twice, 0.35, 2).map(c => c.key)).size).toBe(4)
  })
})

it('the reason of a miss is what it lacks against the last passage handed on', () => {
  const last = how(1, 0.7, 0.7)
  expect(reasonOf(how(2, 0.5, 0.9), last)).toBe('weaker_words')
  expect(reasonOf(how(2, 0.9, 0.5), last)).toBe('farther_meaning')
  expect(reasonOf(how(2, 0.5, 0.5), last)).toBe('both_weaker')
  expect(reasonOf(how(2, null, 0.9), last)).toBe('no_shared_word')
  expect(reasonOf(how(2, 0.5, null), last)).toBe('no_vector_yet')
})
