/** Highlights words on the screen without changing the DOM: the rows belong to React. */
import { markWords } from './needle'

/** The names of `::highlight` rules: one for the conversation, one for a file that is shown above it. */
type Name = 'found' | 'found-in-file'

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
export function markIn(root: Element, words: readonly string[], name: Name = 'found'): () => void {
  if (!('highlights' in CSS) || words.length === 0) return () => undefined
  let scheduled = 0
  const mark = () => {
    scheduled = 0
    CSS.highlights.set(name, new Highlight(...rangesIn(root, words)))
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
    CSS.highlights.delete(name)
  }
}

const BLOCK = 'p, li, h1, h2, h3, h4, h5, h6, pre, td, th'

/** The first of the words whose paragraph has all of them. Until its part of a long text is rendered, there is none. */
function best(ranges: readonly Range[], words: readonly string[]): Range | undefined {
  const hasAll = ({ startContainer }: Range) => {
    const text = startContainer.parentElement?.closest(BLOCK)?.textContent?.toLowerCase()
    return text !== undefined && words.every(word => text.includes(word.toLowerCase()))
  }
  return ranges.find(hasAll)
}

/** Scrolls the word into view of every box around it that scrolls, up to `outer`. Returns whether it was in view. */
function reveal(range: Range, outer: Element): boolean {
  let seen = true
  for (let box = range.startContainer.parentElement; box; box = box.parentElement) {
    const [word, view] = [range.getBoundingClientRect(), box.getBoundingClientRect()]
    const scrolls = box === outer || /auto|scroll/.test(getComputedStyle(box).overflowY)
    if (scrolls && (word.top < view.top || word.bottom > view.bottom)) {
      box.scrollTop += word.top - view.top - view.height / 3
      seen = false
    }
    if (box === outer) break
  }
  return seen
}

/** Time to wait until a distant row is rendered and measured, and what is folded in it is loaded; in milliseconds. */
const PATIENCE = 5_000
/** Frames in which the word has to stay where it is. */
const STILL = 3

/**
 * Scrolls the words that were found in the marked row into view: the row itself may be many screens high. Returns a
 * function that calls it off.
 */
export function showIn(log: Element, words: readonly string[]): () => void {
  let frame = 0
  // Not a number of frames: a busy computer loads slowly, and draws frames meanwhile.
  const end = performance.now() + PATIENCE
  const look = (still: number) => {
    if (still === 0 || performance.now() > end) return
    const row = log.querySelector('[data-target]')
    const shown = row ? rangesIn(row, words).filter(range => range.getClientRects().length > 0) : []
    const word = best(shown, words)
    const seen = word !== undefined && reveal(word, log)
    frame = requestAnimationFrame(() => look(seen ? still - 1 : STILL))
  }
  frame = requestAnimationFrame(() => look(STILL))
  const stop = () => {
    cancelAnimationFrame(frame)
    for (const event of ['wheel', 'touchmove']) log.removeEventListener(event, stop)
  }
  // Whoever scrolls has seen enough.
  for (const event of ['wheel', 'touchmove']) log.addEventListener(event, stop, { passive: true })
  return stop
}
