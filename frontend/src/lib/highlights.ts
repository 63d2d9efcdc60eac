/** Highlights words on the screen without changing the DOM: the rows belong to React. */
import { markWords } from './needle'

const NAME = 'found'

function rangesIn(root: Node, words: readonly string[]): Range[] {
  const ranges: Range[] = []
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    let at = 0
    for (const { text, marked } of markWords(node.nodeValue ?? '', words)) {
      if (marked) {
        const range = document.createRange()
        range.setStart(node, at)
        range.setEnd(node, at + text.length)
        ranges.push(range)
      }
      at += text.length
    }
  }
  return ranges
}

/**
 * Highlights the words beneath `root` until the returned function is called. Does nothing in browsers without
 * support.
 */
export function markIn(root: Element, words: readonly string[]): () => void {
  if (!('highlights' in CSS) || words.length === 0) return () => undefined
  let scheduled = 0
  const mark = () => {
    scheduled = 0
    CSS.highlights.set(NAME, new Highlight(...rangesIn(root, words)))
  }
  // Rows are mounted and unmounted by scrolling, and text grows while it streams.
  const observer = new MutationObserver(() => {
    scheduled ||= requestAnimationFrame(mark)
  })
  observer.observe(root, { childList: true, subtree: true, characterData: true })
  mark()
  return () => {
    observer.disconnect()
    cancelAnimationFrame(scheduled)
    CSS.highlights.delete(NAME)
  }
}
