import { expect, it } from 'vitest'
import { clashes, clashesBelow } from '../../scripts/names.mjs'

it('no two files of the page differ only by case', () => {
  expect(['src', 'test', 'e2e', 'scripts'].flatMap(clashesBelow)).toEqual([])
})

it('names that an import cannot distinguish are detected, and others are not', () => {
  expect(clashes(['Trust.tsx', 'trust.ts'])).toEqual([['Trust.tsx', 'trust.ts']])
  expect(clashes(['README.md', 'readme.md'])).toEqual([['README.md', 'readme.md']])
  expect(clashes(['Trust.tsx', 'Trust.test.tsx', 'trusted.ts', 'Cargo.toml', 'cargo.sh'])).toEqual([])
})
