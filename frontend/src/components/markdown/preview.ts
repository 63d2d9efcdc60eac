/**
 * Documents that a model wrote, made harmless before a frame or a picture shows them. The frame is the wall: it is
 * sandboxed without scripts and without an origin, and inherits the policy of the page. What is removed here would not
 * work in it anyway, and would only fill the console.
 */

export type Previewable = 'svg' | 'html' | 'mermaid'

/**
 * An SVG as the address of a picture. A picture runs no script and loads nothing, which no sandbox of a frame
 * guarantees for an element of the page, and its own styles work.
 */
export function pictureOf(code: string): string {
  const svg = code.includes('xmlns')
    ? code
    : code.replace(/<svg\b/i, '<svg xmlns="http://www.w3.org/2000/svg"')
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`
}

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'"
const REMOVED = 'script, iframe, frame, frameset, object, embed, link, meta, base, portal, template, noscript'
/** Attributes that load or lead somewhere. */
const ADDRESSES = new Set(
  'src srcset href xlink:href action formaction poster data ping background cite longdesc manifest'.split(
    ' ',
  ),
)

const staysInside = (value: string): boolean =>
  /^(?:data:image\/(?:png|jpeg|gif|webp|svg\+xml)[;,]|#)/i.test(value.trim())

const SET_ASIDE = 'data-mc-'

/**
 * A browser reports handlers and styles to the console even while it parses a document that is never shown. Tags that
 * this misses are only reported.
 */
const unreported = (code: string, nonce: string): string =>
  code
    .replace(/<[a-z][^<>]*>/gi, tag => tag.replace(/(\s)(style|on[a-z]+)(?=\s*=)/gi, `$1${SET_ASIDE}$2`))
    .replace(/<style\b/gi, `<style nonce="${nonce}"`)

/** The document of the frame for an HTML text. Its styles carry the nonce of the page, whose policy the frame inherits. */
export function documentOf(code: string, nonce: string): string {
  const page = new DOMParser().parseFromString(unreported(code, nonce), 'text/html')
  for (const element of page.querySelectorAll(REMOVED)) element.remove()
  const rules: string[] = []
  for (const element of page.querySelectorAll('*')) {
    for (const { name, value } of [...element.attributes]) {
      if (
        name.startsWith('on') ||
        name.startsWith(`${SET_ASIDE}on`) ||
        (ADDRESSES.has(name) && !staysInside(value))
      )
        element.removeAttribute(name)
    }
    const style = element.getAttribute(`${SET_ASIDE}style`) ?? element.getAttribute('style')
    if (style === null) continue
    // A policy with a nonce allows no style attribute: it becomes a rule of its own.
    element.removeAttribute('style')
    element.removeAttribute(`${SET_ASIDE}style`)
    const mark = `${rules.length}`
    element.setAttribute('data-style', mark)
    rules.push(
      `[data-style="${mark}"][data-style="${mark}"][data-style="${mark}"]{${style.replaceAll('<', '\\3c ')}}`,
    )
  }
  for (const style of page.querySelectorAll('style')) style.setAttribute('nonce', nonce)
  const own = page.createElement('style')
  own.setAttribute('nonce', nonce)
  own.textContent = rules.join('\n')
  page.body.append(own)
  const meta = page.createElement('meta')
  meta.httpEquiv = 'Content-Security-Policy'
  meta.content = POLICY
  page.head.prepend(meta)
  return `<!doctype html>${page.documentElement.outerHTML}`
}
