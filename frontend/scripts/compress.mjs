// Writes a .br and a .gz twin beside every text file of dist, so that the server never compresses at run time.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const dist = new URL('../dist', import.meta.url).pathname
const text = /\.(js|css|svg|json|txt)$/

// The manifest serves the size gate only; the browser never asks for it.
const keep = file => text.test(file) && !file.includes('.vite')

// The document that draws diagrams is larger than all of the page. Every browser that can draw reads gzip, so that one copy
// is enough in the binary.
const once = /assets\/diagram-[^/]+\.html$/

for (const file of readdirSync(dist, { recursive: true })) {
  if (once.test(file)) {
    writeFileSync(join(dist, `${file}.gz`), gzipSync(readFileSync(join(dist, file)), { level: 9 }))
    rmSync(join(dist, file))
    continue
  }
  if (!keep(file)) continue
  const body = readFileSync(join(dist, file))
  const brotli = brotliCompressSync(body, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: body.length },
  })
  const gzip = gzipSync(body, { level: 9 })
  for (const [suffix, twin] of [
    ['.br', brotli],
    ['.gz', gzip],
  ]) {
    if (twin.length < body.length) writeFileSync(join(dist, file + suffix), twin)
    else rmSync(join(dist, file + suffix), { force: true })
  }
}
