import { describe, expect, it } from 'vitest'
import { reasonOf, rerank, scoreOf } from '@/features/playground/rerank'
import { isForeign, sumOf } from '@/features/retrieval/ranking'
import { FOREIGN, hit, how, search } from './searches'

const order = (w: number, k: number) => rerank(search(), w, k).map(c => c.hit.source.slice(10, -3))

describe('the score of a passage', () => {
  it('is the weighted sum of both shares', () => {
    expect(scoreOf(how(1, 1, 0.82), 0.35)).toBeCloseTo(0.937)
    expect(scoreOf(how(1, null, 0.82), 0.35)).toBeCloseTo(0.287)
  })
  it('counts the words for both if there is no vector', () => {
    expect(scoreOf(how(1, 0.8, null), 0.35)).toBeCloseTo(0.8)
    expect(scoreOf(how(1, 0.8, null), 1)).toBeCloseTo(0.8)
  })
  it('is displayed as the sum that it is', () => {
    expect(sumOf(how(1, 1, 0.82, 0.35))).toEqual({ vector: [0.35, 0.82], late: null, lexical: [0.65, 1] })
    expect(sumOf(how(1, 0.8, null))).toEqual({ vector: null, late: null, lexical: [1, 0.8] })
    expect(sumOf(how(1, null, 0.5, 0.35))).toEqual({ vector: [0.35, 0.5], late: null, lexical: [0.65, 0] })
    const compared = { ...how(1, 1, 0.8, 0.1), late: { score: 0.6, share: 0.5, weight: 0.4 } }
    expect(sumOf(compared)).toEqual({ vector: [0.1, 0.8], late: [0.4, 0.5], lexical: [0.5, 1] })
    expect(scoreOf(compared, 0.1)).toBeCloseTo(0.78)
  })
  it('equals the server’s at the server’s own weight', () => {
    const { hits, near_misses, weights } = search()
    for (const { how: own, score } of [...hits, ...near_misses.map(m => m.hit)]) {
      expect(own && scoreOf(own, own.vector_weight ?? 0)).toBeCloseTo(score)
    }
    expect(weights.vector).toBe(0.2)
  })
})

describe('another weight', () => {
  it('restores the server’s order, choice and reasons at the server’s own', () => {
    const ranked = rerank(search(), 0.2, 2)
    expect(ranked.map(c => [c.rank, c.before, c.chosen])).toEqual([
      [1, 1, true],
      [2, 2, true],
      [3, 3, false],
      [4, 4, false],
    ])
    expect(ranked[3]?.miss).toEqual({ reason: 'no_shared_word', behind: expect.closeTo(0.54) })
  })
  it('ranks by meaning alone at 1, and by words alone at 0', () => {
    expect(order(1, 4)).toEqual(['meaning', 'both', '外', 'words'])
    expect(order(0, 4)).toEqual(['words', 'both', '外', 'meaning'])
  })
  it('reports how far a passage has moved', () => {
    const first = rerank(search(), 1, 2)[0]
    expect([first?.rank, first?.before]).toEqual([1, 4])
  })
  it('keeps the weight of the meaning for a passage in another script', () => {
    const foreign = (w: number) => rerank(search(), w, 2).find(c => c.hit.source.includes('外'))
    expect(foreign(0)?.weight).toBe(FOREIGN)
    expect(foreign(0.9)?.weight).toBe(0.9)
    const { hits, weights } = search()
    expect(hits.some(h => h.how && isForeign(h.how, weights))).toBe(false)
  })
  it('hands on more without a request', () => {
    const ranked = rerank(search(), 0.2, 3)
    expect(ranked.map(c => c.chosen)).toEqual([true, true, true, false])
    expect(ranked[3]?.miss?.behind).toBeCloseTo(0.4)
  })
  it('keeps the key of every passage', () => {
    const keys = (w: number) => rerank(search(), w, 2).map(c => c.key)
    expect(new Set(keys(1))).toEqual(new Set(keys(0.2)))
    expect(new Set(keys(1)).size).toBe(4)
  })
  it('distinguishes two passages of one place', () => {
    const twice = search()
    const one = hit('knowledge/line.md', [1, 1], how(1, 1, 1))
    twice.hits = [one, { ...one, text: 'the second half' }]
    expect(new Set(rerank(twice, 0.2, 2).map(c => c.key)).size).toBe(4)
  })
})

it('a miss is explained by what it lacks against the last passage handed on', () => {
  const last = how(1, 0.7, 0.7)
  expect(reasonOf(how(2, 0.5, 0.9), last)).toBe('weaker_words')
  expect(reasonOf(how(2, 0.9, 0.5), last)).toBe('farther_meaning')
  expect(reasonOf(how(2, 0.5, 0.5), last)).toBe('both_weaker')
  expect(reasonOf(how(2, null, 0.9), last)).toBe('no_shared_word')
  expect(reasonOf(how(2, 0.5, null), last)).toBe('no_vector_yet')
})
