/**
 * The only code of the document that draws diagrams: it has no origin, no network and no access to the page, which sends
 * it a text and gets back an SVG. The server's policy for it is in src/api/web.rs.
 */
import mermaid from 'mermaid'
import type { Drawing, Order } from './protocol'

const FONT = 'system-ui, sans-serif'

/** The colors of the page, from which Mermaid derives all others. */
const LIGHT = {
  background: '#f4f5f9',
  primaryColor: '#dfeafc',
  primaryBorderColor: '#3a74cf',
  primaryTextColor: '#1a1c20',
  secondaryColor: '#ebe3fb',
  tertiaryColor: '#e9ecf2',
  lineColor: '#5b6472',
}
const DARK = {
  background: '#1a1b1f',
  primaryColor: '#25324d',
  primaryBorderColor: '#6d93dd',
  primaryTextColor: '#e6e9ef',
  secondaryColor: '#382f54',
  tertiaryColor: '#2a2e37',
  lineColor: '#9aa4b5',
  noteBkgColor: '#3a3520',
  noteBorderColor: '#83753c',
  noteTextColor: '#f0e6c2',
}

/** The label of a round root of a mind map begins at the middle if it is text of SVG. */
const CSS = '.mindmap-node.section-root > circle + .label text { text-anchor: middle }'

/** The page is the only document that may frame this one, and this one has no origin to name. */
const send = (drawing: Drawing): void => parent.postMessage(drawing, '*')

function configure({ dark, longest }: Order): void {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    suppressErrorRendering: true,
    theme: 'base',
    darkMode: dark,
    fontFamily: FONT,
    themeVariables: { fontFamily: FONT, darkMode: dark, ...(dark ? DARK : LIGHT) },
    // The SVG is shown as a picture: text in it is text of SVG, not HTML.
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    maxTextSize: longest,
    maxEdges: 200,
    themeCSS: CSS,
    // What a diagram may not change by its own `init`.
    secure: [
      ...['secure', 'securityLevel', 'startOnLoad', 'maxTextSize', 'maxEdges', 'suppressErrorRendering'],
      ...['htmlLabels', 'themeCSS', 'dompurifyConfig', 'fontFamily'],
    ],
  })
}

/** The width and height that an SVG was drawn for. */
function sizeOf(svg: SVGSVGElement): { width: number; height: number } {
  const [, , width = 0, height = 0] = (svg.getAttribute('viewBox') ?? '').split(/[\s,]+/).map(Number)
  return { width: Math.ceil(width), height: Math.ceil(height) }
}

async function draw(order: Order): Promise<Drawing> {
  configure(order)
  const { svg } = await mermaid.render('diagram', order.code)
  const place = document.createElement('div')
  place.innerHTML = svg
  const element = place.querySelector('svg')
  if (!element) throw new Error('no drawing')
  // Links do nothing in a picture, but a picture can be opened on its own.
  for (const link of element.querySelectorAll('a')) {
    for (const name of ['href', 'xlink:href']) link.removeAttribute(name)
  }
  const size = sizeOf(element)
  // A picture needs a size of its own; in the page it takes the width that there is.
  element.removeAttribute('style')
  element.setAttribute('width', `${size.width}`)
  element.setAttribute('height', `${size.height}`)
  return { kind: 'drawn', svg: new XMLSerializer().serializeToString(element), ...size }
}

addEventListener('message', ({ source, data }: MessageEvent<Order>) => {
  if (source !== parent) return
  draw(data).then(send, (error: unknown) =>
    send({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) }),
  )
})
send({ kind: 'ready' })
