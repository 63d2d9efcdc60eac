import { expect, it } from 'vitest'
import { playgroundHref, trialOf } from '@/features/retrieval/address'

it('a trial survives a round trip through its address', () => {
  const trial = { query: 'a & b?', folder: 'memory', k: 5, weight: 0.4, tab: 'tests' } as const
  expect(trialOf(playgroundHref(trial).split('?')[1] ?? '')).toEqual(trial)
})

it('an invalid trial falls back to the defaults', () => {
  const usual = { query: '', folder: 'knowledge', k: 3, weight: null, tab: 'search' }
  expect(trialOf('')).toEqual(usual)
  expect(trialOf('folder=skills&k=9000&weight=x&tab=else')).toEqual(usual)
})
