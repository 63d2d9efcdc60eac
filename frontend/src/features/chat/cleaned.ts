/**
 * Copies elements without what is only for this page: classes, buttons, icons and links into it. What is not listed
 * here becomes its text.
 */

const KEPT = new Set(
  'p h1 h2 h3 h4 h5 h6 ul ol li strong em del code pre blockquote table thead tbody tr th td br hr a'.split(
    ' ',
  ),
)
const DROPPED = new Set(['button', 'svg', 'style', 'script', 'annotation', 'input'])

export function cleaned(from: Element): HTMLElement {
  const to = document.createElement('div')
  for (const child of from.childNodes) add(child, to)
  return to
}

function add(node: Node, to: Node): void {
  if (node.nodeType === Node.TEXT_NODE) {
    to.appendChild(document.createTextNode(node.textContent ?? ''))
    return
  }
  if (!(node instanceof Element)) return
  const name = node.localName
  if (DROPPED.has(name)) return
  const code = name === 'figure' ? node.querySelector('pre') : null
  if (code) {
    add(code, to)
    return
  }
  const inner = KEPT.has(name) ? to.appendChild(document.createElement(name)) : to
  if (name === 'a') {
    const href = node.getAttribute('href') ?? ''
    if (/^(?:https?|mailto):/.test(href)) (inner as HTMLElement).setAttribute('href', href)
  }
  const start = name === 'ol' ? node.getAttribute('start') : null
  if (start && start !== '1') (inner as HTMLElement).setAttribute('start', start)
  for (const child of node.childNodes) add(child, inner)
}
