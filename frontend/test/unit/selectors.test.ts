import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(name => /\.tsx?$/.test(name))
const sources = files.map(name => [name, readFileSync(`src/${name}`, 'utf8')] as const)

it('a component selects what it uses from a store', () => {
  const stores = sources.flatMap(([, text]) =>
    [...text.matchAll(/const (use\w+) = create\b/g)].map(([, hook]) => hook),
  )
  expect(stores).toContain('useUi')
  expect(stores.length).toBeGreaterThan(8)
  const whole = new RegExp(`\\b(${stores.join('|')})\\((\\)|useShallow\\(\\(\\{[^}]*\\.\\.\\.)`)
  expect('const all = useUi()').toMatch(whole)
  expect('useUi(useShallow(({ left, ...rest }) => rest))').toMatch(whole)
  expect('useUi(ui => ui.tab)').not.toMatch(whole)
  expect(sources.filter(([, text]) => whole.test(text)).map(([name]) => name)).toEqual([])
})
