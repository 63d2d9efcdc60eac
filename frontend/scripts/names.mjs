// File names: no two that differ only by case. macOS and Windows take them for one file, and so does an import without its
// extension: `./trust` may be Trust.tsx there.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const MADE = new Set(['node_modules', 'dist', 'target', 'test-results'])
/** What an import leaves out. */
const EXTENSION = /\.(d\.ts|[cm]?[jt]sx?)$/

/** The pairs among the names of one folder that are one name where case does not count. */
export function clashes(names) {
  const seen = new Map()
  return names.flatMap(name => {
    const stem = name.replace(EXTENSION, '')
    const key = stem.toLowerCase()
    const [before, itsStem] = seen.get(key) ?? []
    seen.set(key, [name, stem])
    return before !== undefined && itsStem !== stem ? [[before, name]] : []
  })
}

export function clashesBelow(folder) {
  const entries = readdirSync(folder, { withFileTypes: true }).filter(
    ({ name }) => !MADE.has(name) && !name.startsWith('.'),
  )
  return [
    ...clashes(entries.map(({ name }) => name)).map(
      ([a, b]) => `${join(folder, a)} and ${b} differ only by case`,
    ),
    ...entries.flatMap(entry => (entry.isDirectory() ? clashesBelow(join(folder, entry.name)) : [])),
  ]
}

if (import.meta.filename === process.argv[1]) {
  // Another root than the repository is for tests.
  const root = process.argv[2] ?? new URL('../..', import.meta.url).pathname
  const top = clashes(readdirSync(root)).map(([a, b]) => `${a} and ${b} differ only by case`)
  const below = [
    'frontend',
    'src',
    'tests',
    'docs',
    'starter',
    'crates',
    'benches',
    'scripts',
    'models',
    'eval',
  ]
    .map(folder => join(root, folder))
    .filter(folder => existsSync(folder))
    .flatMap(clashesBelow)
  const found = [...top, ...below]
  for (const line of found) console.error(line)
  process.exitCode = found.length > 0 ? 1 : 0
}
