// The document in which diagrams are drawn: one file with its script inside, because a document without an origin may
// load nothing. Its own policy allows that script by its hash and no other.
import { createHash } from 'node:crypto'
import { build } from 'vite'

const ENTRY = new URL('../src/diagram/frame.ts', import.meta.url).pathname
const ID = 'virtual:diagram-document'
/** Where the development server has it. */
const DEV = '/diagram-document.html'

async function bundle() {
  const output = await build({
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    build: {
      write: false,
      target: 'es2022',
      modulePreload: false,
      rolldownOptions: { input: ENTRY, output: { format: 'iife', codeSplitting: false } },
    },
  })
  const [first] = Array.isArray(output) ? output : [output]
  const chunks = first.output.filter(part => part.type === 'chunk')
  if (chunks.length !== 1) throw new Error(`the diagrams need one script, not ${chunks.length}`)
  return chunks[0].code
}

/** A script as the text of a script element: nothing in it ends the element or begins a comment of HTML. */
export const inScript = code => code.replace(/<(?=\/script|!--)/gi, '\\x3c')

export function documentWith(code) {
  const script = inScript(code)
  const hash = createHash('sha256').update(script).digest('base64')
  const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data:`
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><title>Diagram</title></head><body><script>${script}</script></body></html>\n`
}

/** The plugin: importing `virtual:diagram-document` gives the address of the document. */
export function diagramDocument() {
  let developing = false
  return {
    name: 'diagram-document',
    configResolved(config) {
      developing = config.command === 'serve'
    },
    configureServer(server) {
      server.middlewares.use(DEV, async (_, response) => {
        response.setHeader('Content-Type', 'text/html; charset=utf-8')
        response.end(documentWith(await bundle()))
      })
    },
    resolveId: id => (id === ID ? `\0${ID}` : null),
    async load(id) {
      if (id !== `\0${ID}`) return null
      if (developing) return `export default '${DEV}'`
      const file = this.emitFile({
        type: 'asset',
        name: 'diagram.html',
        source: documentWith(await bundle()),
      })
      return `export default import.meta.ROLLUP_FILE_URL_${file}`
    },
  }
}
