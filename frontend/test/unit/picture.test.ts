import { expect, test } from 'vitest'
import { within } from '@/features/attach/limits'

test('a picture keeps its aspect ratio, is never enlarged and never vanishes', () => {
  expect(within(800, 600, 1568)).toEqual({ width: 800, height: 600 })
  expect(within(3136, 1568, 1568)).toEqual({ width: 1568, height: 784 })
  expect(within(600, 6272, 1568)).toEqual({ width: 150, height: 1568 })
  expect(within(100_000, 1, 1568)).toEqual({ width: 1568, height: 1 })
})
