// The size budget. Reads Vite's manifest, adds up what each step of use downloads, and fails above the limit.
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

const KB = 1024
const dist = new URL('../dist', import.meta.url).pathname
const manifest = JSON.parse(readFileSync(join(dist, '.vite/manifest.json'), 'utf8'))
const gz = file => gzipSync(readFileSync(join(dist, file)), { level: 9 }).length
const sum = files => [...files].reduce((total, file) => total + gz(file), 0)

/** Every chunk that `key` pulls in by static imports, itself included. */
const closure = (key, seen = new Set()) => {
  if (seen.has(key)) return seen
  seen.add(key)
  for (const next of manifest[key].imports ?? []) closure(next, seen)
  return seen
}
const files = keys => new Set([...keys].map(key => manifest[key].file))
const css = keys => new Set([...keys].flatMap(key => manifest[key].css ?? []))
/** The package of a chunk that comes from one, else the file's own name, or its folder's. */
const nameOf = key =>
  /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(key)?.[1] ??
  key
    .replace(/\/index\.tsx?$/, '')
    .split('/')
    .pop()
const find = pattern => Object.keys(manifest).find(key => pattern.test(key))

const entry = closure('index.html')
const beyond = keys => new Set([...keys].filter(key => !entry.has(key)))
const editorKey = find(/OpenEditor\.tsx$/)
const markdownKey = find(/editor\/markdown\.ts$/)
const editor = beyond(new Set([...closure(editorKey), ...closure(markdownKey)]))

const rows = [
  ['initial JS', sum(files(entry)), 200],
  ['initial CSS', sum(css(entry)), 16],
  ['editor, first open', sum(files(editor)), 210],
]
for (const [key, chunk] of Object.entries(manifest)) {
  if (chunk.file.endsWith('.js') && !entry.has(key) && !closure(editorKey).has(key)) {
    rows.push([`lazy ${nameOf(key)}`, gz(chunk.file), 80])
  }
}

const diagram = readdirSync(join(dist, 'assets')).find(name => /^diagram-.*\.html\.gz$/.test(name))
rows.push(['diagrams, first drawn', statSync(join(dist, 'assets', diagram)).size, 1000])

let over = false
for (const [name, bytes, limit] of rows) {
  const bad = bytes > limit * KB
  over ||= bad
  console.log(
    `${bad ? 'OVER' : 'ok  '} ${name.padEnd(32)} ${(bytes / KB).toFixed(1).padStart(7)} / ${limit} KB gz`,
  )
}
rmSync(join(dist, '.vite'), { recursive: true })
process.exitCode = over ? 1 : 0
