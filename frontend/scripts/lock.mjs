// The lock file: each package has a hash to check it by, and none names the registry it comes from.
import { readFileSync } from 'node:fs'

/** What is wrong with a lock file, one line for each package. */
export function faults(lock) {
  return Object.entries(lock.packages).flatMap(([path, entry]) => {
    // The page itself, and what comes inside another package and is checked with it.
    if (path === '' || entry.inBundle) return []
    const wrong = []
    if (!/^sha512-/.test(entry.integrity ?? '')) wrong.push('has no integrity (sha512)')
    if (entry.resolved) wrong.push('names an address (resolved)')
    return wrong.map(what => `package-lock.json: ${path} ${what}`)
  })
}

if (import.meta.filename === process.argv[1]) {
  const found = faults(JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')))
  for (const line of found) console.error(line)
  process.exitCode = found.length > 0 ? 1 : 0
}
