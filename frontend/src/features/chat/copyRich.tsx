/** Copies Markdown as rich text. */
import { flushSync } from 'react-dom'
import { createRoot } from 'react-dom/client'
import { Markdown } from '@/components/markdown/Markdown'
import { copyText } from '@/lib/clipboard'
import { cleaned } from './cleaned'

/** The HTML of a Markdown text, from the elements that the page itself shows. */
export function htmlOf(text: string): string {
  const box = document.createElement('div')
  const root = createRoot(box)
  flushSync(() => root.render(<Markdown text={text} />))
  const html = cleaned(box).innerHTML
  root.unmount()
  return html
}

/** Falls back to the plain text where the browser cannot copy anything else. */
export async function copyRich(text: string): Promise<boolean> {
  const html = htmlOf(text)
  if (html !== '' && typeof ClipboardItem !== 'undefined' && navigator.clipboard?.write) {
    const of = (type: string, content: string) => new Blob([content], { type })
    const item = new ClipboardItem({
      'text/html': of('text/html', html),
      'text/plain': of('text/plain', text),
    })
    const done = await navigator.clipboard.write([item]).then(
      () => true,
      () => false,
    )
    if (done) return true
  }
  return copyText(text)
}
