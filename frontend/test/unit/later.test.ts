import { expect, it } from 'vitest'
import { later } from '@/locales/en/later'

/** The text of each module, by its path beneath src/. */
const texts = new Map(
  Object.entries(
    import.meta.glob<string>('../../src/**/*.{ts,tsx}', { eager: true, query: '?raw', import: 'default' }),
  ).map(([path, text]) => [path.replace('../../src/', ''), text]),
)

const STATIC = /^(?:import|export)\b(?!\s+type\b)[^;'"(]*?['"]([^'"\n]+)['"]/gm
const LAZY = /\bimport\('([^']+)'\)/g

function resolve(from: string, name: string): string | null {
  const base = name.startsWith('@/')
    ? name.slice(2)
    : new URL(name, `http://src/${from}`).pathname.slice(1).replace(/^src\//, '')
  if (!name.startsWith('@/') && !name.startsWith('.')) return null
  const ends = ['', '.ts', '.tsx', '/index.ts', '/index.tsx']
  return ends.map(end => base + end).find(path => texts.has(path)) ?? null
}

const named = (pattern: RegExp, path: string): string[] =>
  [...(texts.get(path) ?? '').matchAll(pattern)].flatMap(([, name]) => resolve(path, name ?? '') ?? [])

/** All modules that are loaded together with one. */
function closure(path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path)) return seen
  seen.add(path)
  for (const next of named(STATIC, path)) closure(next, seen)
  return seen
}

const said = (path: string): string[] =>
  Object.keys(later).filter(key => new RegExp(`['"]${key}['"]`).test(texts.get(path) ?? ''))

const isWords = (path: string): boolean => path.startsWith('locales/')
const words = (paths: Iterable<string>): string[] =>
  [...paths].filter(path => !isWords(path)).flatMap(path => said(path).map(key => `${path}: ${key}`))

const first = closure('main.tsx')
const lazy = new Set([...texts.keys()].flatMap(path => named(LAZY, path)).filter(path => !isWords(path)))

it('modules that are loaded first use no later text', () => {
  expect(first.size).toBeGreaterThan(100)
  expect(words(first)).toEqual([])
  expect(first).not.toContain('lib/later.ts')
})

it('modules that are loaded later import the texts they use', () => {
  const silent = [...lazy].filter(path => {
    const whole = closure(path)
    return !whole.has('lib/later.ts') && words([...whole].filter(part => !first.has(part))).length > 0
  })
  expect(silent).toEqual([])
  expect(words(closure('features/xray/Xray.tsx')).length).toBeGreaterThan(20)
})
