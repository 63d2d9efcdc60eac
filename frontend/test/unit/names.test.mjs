import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { clashes, clashesBelow } from '../../scripts/names.mjs'

it('no two files of the page differ only by case', () => {
  expect(['src', 'test', 'e2e', 'scripts'].flatMap(clashesBelow)).toEqual([])
})

it('names that an import cannot distinguish are detected, and others are not', () => {
  expect(clashes(['Trust.tsx', 'trust.ts'])).toEqual([['Trust.tsx', 'trust.ts']])
  expect(clashes(['README.md', 'readme.md'])).toEqual([['README.md', 'readme.md']])
  expect(clashes(['Trust.tsx', 'Trust.test.tsx', 'trusted.ts', 'Cargo.toml', 'cargo.sh'])).toEqual([])
})

const trees = []
afterEach(() => {
  for (const tree of trees.splice(0)) rmSync(tree, { recursive: true })
})

function treeOf(...names) {
  const root = mkdtempSync(join(tmpdir(), 'names-'))
  trees.push(root)
  for (const name of names) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), '')
  }
  return root
}
const run = root => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/names.mjs', root], { encoding: 'utf8' })
  return { status, stderr }
}

it('a clash in a folder below fails, and generated and hidden files do not count', () => {
  const root = treeOf(
    'src/deep/Trust.tsx',
    'src/deep/trust.ts',
    'src/node_modules/a.js',
    'src/node_modules/A.js',
    'src/.cache/b.js',
    'src/.cache/B.js',
  )
  const line = `${join(root, 'src/deep/Trust.tsx')} and trust.ts differ only by case`
  expect(clashesBelow(root)).toEqual([line])
  expect(run(root)).toEqual({ status: 1, stderr: `${line}\n` })
})

it('a clash at the top fails, and a tree without one passes', () => {
  expect(run(treeOf('README.md', 'readme.md'))).toEqual({
    status: 1,
    stderr: 'README.md and readme.md differ only by case\n',
  })
  expect(run(treeOf('README.md', 'src/a.ts', 'docs/A.md'))).toEqual({ status: 0, stderr: '' })
})
