import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** All Rust source of a module of the server (`engine`), or of one file (`tools/policy.rs`). */
export function rustSource(module: string): string {
  const at = join(process.cwd(), '../src', module)
  if (at.endsWith('.rs')) return readFileSync(at, 'utf8')
  const files = readdirSync(at, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.rs'))
  return files
    .sort()
    .map(name => readFileSync(join(at, name), 'utf8'))
    .join('\n')
}

/** The same, with string literals joined where they continue on the next line. */
export const rustStrings = (module: string): string => rustSource(module).replace(/\\\n\s*/g, '')
