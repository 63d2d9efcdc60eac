// Text that must never load, run or navigate, and a listener that must never receive a request.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'

/** Every known way to make Markdown or HTML fetch, run or navigate. A script that runs sets `window.owned`. */
const payloads = C => [
  `![a](${C}/img)`,
  `![a][r]\n\n[r]: ${C}/ref`,
  `[![a](${C}/linked)](${C}/to)`,
  `<img src="${C}/html">`,
  `<img src=x onerror="window.owned=1;fetch('${C}/onerror')">`,
  `<script>window.owned=1;fetch('${C}/script')</script>`,
  `<svg onload="window.owned=1"><image href="${C}/svg"/></svg>`,
  `<iframe src="${C}/iframe" srcdoc="<script>parent.owned=1</script>"></iframe>`,
  `<link rel="stylesheet" href="${C}/css"><link rel="prefetch" href="${C}/prefetch">`,
  `<style>@import "${C}/import"; body{background:url(${C}/url)}</style>`,
  `<div style="background:url(${C}/inline)">x</div>`,
  `<meta http-equiv="refresh" content="0;url=${C}/refresh">`,
  `<base href="${C}/">`,
  `<video poster="${C}/poster" src="${C}/video" autoplay></video><audio src="${C}/audio" autoplay></audio>`,
  `<object data="${C}/object"></object><embed src="${C}/embed">`,
  `<form action="${C}/form"><input name=q autofocus onfocus="window.owned=1"></form>`,
  `<picture><source srcset="${C}/srcset"><img srcset="${C}/set 2x"></picture>`,
  `<math><mtext><table><mglyph><style><img src=x onerror="window.owned=1"></style></mglyph></table></mtext></math>`,
  `<details open ontoggle="window.owned=1"><summary>x</summary></details>`,
  '[click](javascript:window.owned=1)',
  '[click](JaVaScRiPt:window.owned=1)',
  '[click](&#106;avascript:window.owned=1)',
  '[click](data:text/html,<script>window.owned=1</script>)',
  '[click](vbscript:window.owned=1)',
  '<javascript:window.owned=1>',
  `[protocol](//127.0.0.1:${new URL(C).port}/relative)`,
  `\`\`\`html\n<img src="${C}/code">\n\`\`\``,
  `\`\`\`mermaid\ngraph TD; A["<img src='${C}/mermaid'>"] --> B\n\`\`\``,
  `$$\\href{javascript:window.owned=1}{x} \\includegraphics{${C}/math}$$`,
  `| <img src="${C}/cell"> | ![x](${C}/cell2) |\n|---|---|\n| a | b |`,
  `<a id="app" name="root" href="${C}/clobber">x</a><form id="location"></form>`,
]

/** Elements that would load, run or navigate by themselves. */
const LOADING =
  'iframe, object, embed, base:not([href="/"]), video, audio, form[action], meta[http-equiv=refresh], img[src^="http"]'

/** A listener beside the app. `/page` is the negative control: the same text on a page that does not escape it. */
export async function startCanary() {
  const hits = []
  const server = createServer((request, response) => {
    if (request.url === '/page') {
      response.setHeader('Content-Type', 'text/html')
      return response.end(all.filter(text => !text.includes('refresh')).join('\n'))
    }
    hits.push(request.url)
    response.end('x')
  })
  server.on('upgrade', (request, socket) => {
    hits.push(`upgrade ${request.url}`)
    socket.destroy()
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${server.address().port}`
  const all = payloads(url)
  /** Expands everything `within` a part of the page, then checks that nothing was loaded or run. */
  const harmless = async (page, within = page) => {
    // Menus stay closed: an open one is in the way of whatever is below it.
    const folded = within.locator(
      '[aria-expanded="false"]:not([aria-haspopup=menu]), details:not([open]) > summary',
    )
    // Elements, because a locator no longer finds what has been expanded, and would skip every second one.
    for (const one of await folded.elementHandles()) {
      if (await one.isVisible()) await one.dispatchEvent('click')
    }
    assert.deepEqual(await page.locator(LOADING).evaluateAll(all => all.map(found => found.outerHTML)), [])
    const links = await page.locator('a[href]').evaluateAll(all => all.map(a => a.protocol))
    for (const protocol of links) assert.match(protocol, /^(https?|mailto):$/)
    assert.equal(await page.evaluate(() => window.owned), undefined)
    assert.deepEqual(hits, [])
  }
  return { hits, url, hostile: all.join('\n\n'), harmless, close: () => server.close() }
}
