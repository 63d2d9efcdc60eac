/**
 * The meaning of a text, whatever elements it is rendered with: the page has headings below its own, frames around
 * code and tables, and links instead of pictures; the specification has plain HTML.
 */
export interface Example {
  markdown: string
  html: string
  section: string
  number?: number
}

export type Meaning = string | { is: string; of: Meaning[] }

const BLOCKS = /^(p|h\d|ul|ol|li|blockquote|hr|code-block|table|thead|tbody|tr|th|td|html)/

/** The specification writes a tab as an arrow. */
export const withTabs = (text: string): string => text.replaceAll('→', '\t')

/** One string for each meaning: neighbouring texts are merged, and white space between blocks is ignored. */
export function canonical(meanings: Meaning[]): string {
  const parts: string[] = []
  let text = ''
  const flush = (trimEnd: boolean, trimStart: boolean) => {
    let shown = text.replace(/[ \t]*\n[ \t]*/g, ' ')
    if (trimStart) shown = shown.replace(/^[ \n]+/, '')
    if (trimEnd) shown = shown.trimEnd()
    if (shown !== '') parts.push(JSON.stringify(shown))
    text = ''
  }
  let afterBlock = true
  for (const meaning of meanings) {
    if (typeof meaning === 'string') {
      text += meaning
      continue
    }
    const isBlock = BLOCKS.test(meaning.is)
    flush(isBlock || meaning.is === 'br', afterBlock)
    afterBlock = isBlock || meaning.is === 'br' || meaning.is.startsWith('input')
    const inside = canonical(meaning.of)
    // A table body without rows counts as none.
    if (inside !== '' || meaning.is !== 'tbody')
      parts.push(inside === '' ? meaning.is : `${meaning.is}(${inside})`)
  }
  flush(true, afterBlock)
  return parts.join(' ')
}

const attribute = (element: Element, name: string): string => element.getAttribute(name) ?? ''

function address(href: string): string {
  try {
    return encodeURI(decodeURI(href))
  } catch {
    return encodeURI(href)
  }
}
const link = (href: string, of: Meaning[]): Meaning => ({ is: `link<${address(href)}>`, of })
const codeBlock = (language: string, text: string): Meaning => ({
  is: 'code-block',
  of: [
    { is: `lang<${language}>`, of: [] },
    { is: `text<${text.replace(/\n$/, '')}>`, of: [] },
  ],
})
const PLAIN = new Set([
  'P',
  'UL',
  'LI',
  'BLOCKQUOTE',
  'HR',
  'BR',
  'EM',
  'STRONG',
  'DEL',
  'TABLE',
  'THEAD',
  'TBODY',
  'TR',
])
const of = (node: Node, read: (node: Node) => Meaning[]): Meaning[] =>
  Array.from(node.childNodes).flatMap(read)

/** The elements that both have in common. */
function shared(element: Element, read: (node: Node) => Meaning[]): Meaning[] {
  const name = element.tagName
  const inside = () => of(element, read)
  if (PLAIN.has(name)) return [{ is: name.toLowerCase(), of: inside() }]
  if (name === 'CODE') return [{ is: `code<${element.textContent}>`, of: [] }]
  if (name === 'OL') return [{ is: `ol<${attribute(element, 'start') || '1'}>`, of: inside() }]
  if (name === 'INPUT') return [{ is: element.hasAttribute('checked') ? 'input<x>' : 'input', of: [] }]
  if (name === 'TD' || name === 'TH') {
    const align = attribute(element, 'align') || (element as HTMLElement).style.textAlign
    return [{ is: `${name.toLowerCase()}<${align}>`, of: inside() }]
  }
  return [{ is: `html<${name.toLowerCase()}>`, of: inside() }]
}

/** The meaning of the page's elements. */
export const drawn = (root: Node): Meaning[] => of(root, own)

function own(node: Node): Meaning[] {
  if (node.nodeType === 3) return [node.textContent ?? '']
  const element = node as Element
  const inside = () => of(element, own)
  const heading = /heading-(\d)/.exec(element.className)
  if (heading) return [{ is: `h${heading[1]}`, of: inside() }]
  if (element.matches('figure.codeblock')) {
    const shown = element.querySelector('div > span')?.textContent ?? ''
    return [codeBlock(shown === 'text' ? '' : shown, element.querySelector('code')?.textContent ?? '')]
  }
  if (element.tagName === 'A') return [link(attribute(element, 'href'), inside())]
  if (element.tagName === 'SPAN' && element.hasAttribute('title'))
    return [link(attribute(element, 'title'), inside())]
  if (element.tagName === 'SPAN' || element.tagName === 'DIV') return inside()
  return shared(element, own)
}

/** The meaning of the specification's HTML. */
export function expected(html: string): Meaning[] {
  const root = document.createElement('div')
  root.innerHTML = html
  return of(root, read)
}

function read(node: Node): Meaning[] {
  if (node.nodeType === 8) return [{ is: 'html<comment>', of: [] }]
  if (node.nodeType !== 1) return [node.textContent ?? '']
  const element = node as Element
  const name = element.tagName
  const inside = () => of(element, read)
  if (/^H[1-6]$/.test(name)) return [{ is: name.toLowerCase(), of: inside() }]
  const code = element.firstElementChild
  if (name === 'PRE' && code?.tagName === 'CODE') {
    return [codeBlock(code.className.replace('language-', ''), code.textContent ?? '')]
  }
  if (name === 'A') return [link(attribute(element, 'href'), inside())]
  if (name === 'IMG') {
    const source = attribute(element, 'src')
    return [link(source, [`🖼 ${attribute(element, 'alt') || source}`])]
  }
  return shared(element, read)
}
