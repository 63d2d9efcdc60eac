// Runs every e2e test, one file after the other: each starts a miniclaw of its own.
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

if (!process.env.MINICLAW_BIN) {
  console.error('Set MINICLAW_BIN to the miniclaw binary that shall be tested.')
  process.exit(2)
}
const here = new URL('.', import.meta.url).pathname
const wanted = process.argv.slice(2)
const files = readdirSync(here)
  .filter(name => name.endsWith('.test.mjs') && (wanted.length === 0 || wanted.some(w => name.includes(w))))
  .map(name => join(here, name))

const child = spawn(process.execPath, ['--test', '--test-concurrency=1', ...files], { stdio: 'inherit' })
child.on('exit', code => {
  process.exitCode = code ?? 1
})
