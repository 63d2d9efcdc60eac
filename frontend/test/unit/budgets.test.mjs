// The checks of the page's budgets must be able to fail.
import { expect, it, vi } from 'vitest'
import { Figures } from '../../e2e/budgets/figures.mjs'
import { pieces } from '../../e2e/budgets/material.mjs'
import { courseOf, shiftOf, slowest, smoothness } from '../../e2e/budgets/watch.mjs'

it('a figure above its limit or without a value is a miss', () => {
  vi.spyOn(console, 'log').mockImplementation(() => {})
  const figures = new Figures()
  figures.add('at its limit', 20, '%', { atMost: 20 })
  figures.add('over', 20.1, '%', { atMost: 20 })
  figures.add('under', 57, '', { atLeast: 58 })
  figures.add('not measured', Number.NaN, 'ms', { atMost: 20 })
  figures.add('moved who knows where', Number.POSITIVE_INFINITY, 'px', { atMost: 0.9 })
  figures.add('only watched', 300, 'ms', { atMost: 20, watched: true })
  figures.add('without a limit', 300, 'ms')
  expect(figures.missed()).toEqual(['over', 'under', 'not measured', 'moved who knows where'])
})

it('dropped frames are counted', () => {
  const every = Array.from({ length: 61 }, (_, n) => (n * 1000) / 60)
  expect(smoothness(every)).toEqual({ fps: expect.closeTo(60), dropped: 0 })
  const half = every.filter((_, n) => n % 2 === 0)
  expect(smoothness(half)).toEqual({ fps: expect.closeTo(30), dropped: expect.closeTo(50, -1) })
})

it('an interaction takes as long as the longest of its events', () => {
  const events = [
    [1, 24, 'keydown'],
    [1, 40, 'keyup'],
    [2, 32, 'click'],
  ]
  expect(slowest(events)).toEqual({ worst: 40, count: 2 })
  expect(slowest([])).toEqual({ worst: 16, count: 0 })
})

it('the longest event reports its phases', () => {
  const events = [
    [1, 24, 'keydown', 1, 2],
    [2, 56, 'keypress', 10.4, 14.6],
  ]
  expect(courseOf(events)).toBe('keypress: taken up after 10, done after 15, painted after 56')
  expect(courseOf([])).toBe('')
})

it('the tokens of an answer join to whole Markdown, of at most four characters each', () => {
  expect(Math.max(...pieces().map(piece => [...piece].length))).toBe(4)
  expect(pieces().join('')).toMatch(/^## What was found\n.*\n```\n.*下结论。\n\n$/s)
})

it('layout shift is the worst burst, not the sum of a long visit', () => {
  const shifts = [
    [0, 0.01],
    [900, 0.02],
    [3000, 0.02],
    [3500, 0.015],
  ]
  expect(shiftOf(shifts)).toBeCloseTo(0.035)
  expect(shiftOf(Array.from({ length: 20 }, (_, n) => [n * 500, 0.01]))).toBeCloseTo(0.1)
  expect(shiftOf([])).toBe(0)
})
