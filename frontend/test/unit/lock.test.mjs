import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { faults } from '../../scripts/lock.mjs'

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))

it('every package of the lock file has a hash and no URL', () => {
  expect(Object.keys(lock.packages).length).toBeGreaterThan(200)
  expect(faults(lock)).toEqual([])
})

it('a package without a hash, with a weak one or with a URL is a fault', () => {
  const { integrity } = lock.packages['node_modules/react']
  const of = entry => faults({ packages: { '': {}, 'node_modules/x': entry } })
  expect(of({ version: '1.0.0', integrity })).toEqual([])
  expect(of({ version: '1.0.0', inBundle: true })).toEqual([])
  expect(of({ version: '1.0.0' })).toHaveLength(1)
  expect(of({ version: '1.0.0', integrity: 'sha1-abc=' })).toHaveLength(1)
  expect(of({ version: '1.0.0', integrity, resolved: 'https://registry.example/x.tgz' })).toHaveLength(1)
})
