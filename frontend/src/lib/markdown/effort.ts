/**
 * Estimates how long the lexer may take for a text, in nanoseconds on an ordinary machine: an upper bound up to a
 * factor of about two, found in one pass. The cost that any text has for its blocks, linear in its length, is left
 * out.
 *
 * The lexer is quadratic in the worst case, both in blocks (lists, quotes, tables) and inline (emphasis, links,
 * addresses). For ordinary text the bound stays small; for adversarial text it grows with the square of the length,
 * before anything is lexed. The factors were measured over the constructs of test/unit/effort.test.ts.
 */

/** Maximum nesting on one line; nobody writes deeper lists or quotes. */
const DEEPEST = 40
const INFINITE = Number.POSITIVE_INFINITY

const isWordOfAddress = (code: number): boolean =>
  (code >= 48 && code <= 57) ||
  (code >= 65 && code <= 90) ||
  (code >= 97 && code <= 122) ||
  code === 43 ||
  code === 45 ||
  code === 46 ||
  code === 95

/** The effort of a text without blocks: a paragraph, a heading, a table cell. */
export function inlineEffort(text: string): number {
  let emphases = 0
  let others = 0
  let word = 0
  let words = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    word = isWordOfAddress(code) ? word + 1 : 0
    words += word
    if (code === 42 || code === 95) emphases++
    else if (code === 10 || (code > 32 && code < 127 && !isWordOfAddress(code))) others++
    else if (code === 46) others++
  }
  return text.length * (30 + 30 * emphases + 3 * others) + 8 * words
}

const QUOTES = /^[ \t>]*/
/** The markers of list items that start on one line, nested in each other. */
const MARKERS = /^(?:[ \t>]*(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$))+/
const BREAK = /^[ \t>]*([-*_])(?:[ \t]*\1)*[ \t]*$/
const FENCE = /^ {0,3}(`{3,}|~{3,})([^\n]*)$/
/** A fence after one of these in the same paragraph may not be a fence. */
const HIDES = /^ {0,3}(?:<|\[|\$\$|\\\[)/
/** These continue beyond empty lines, so that no later fence is certain. */
const HIDES_ALL = /^ {0,3}<(?:pre|script|style|textarea|!|\?)/i
const ROW = /^[ \t>]*\|?[ \t:]*-[-:|\t ]*$/

/** The effort of a text's blocks, without their inline content. */
export function blockEffort(text: string): number {
  let effort = 0
  // State of the list and the text between its items: it ends at a paragraph that is neither an item nor indented.
  let items = 0
  let extent = 0
  let depth = 1
  let fence: string | null = null
  let unsure = false
  // State of the paragraph, which ends at an empty line.
  let length = 0
  let lazy = 0
  let formulas = 0
  let columns = 0
  let hides = false
  let before = ''
  let item = 0
  const endItem = () => {
    effort += 12 * item * lazy * depth
    item = lazy = 0
  }
  const end = () => {
    endItem()
    effort += 5 * length * formulas
    extent += length
    length = formulas = columns = 0
    hides = false
  }
  const endList = () => {
    effort += items * extent
    items = extent = 0
    depth = 1
  }
  for (const line of text.split('\n')) {
    if (fence !== null) {
      const rest = line.trim()
      if (/^ {0,3}\S/.test(line) && rest.startsWith(fence) && rest.replaceAll(fence[0] ?? '', '') === '')
        fence = null
      continue
    }
    if (line.trim() === '') {
      end()
      continue
    }
    const opened = FENCE.exec(line)
    if (opened && !hides && !unsure && !(opened[1]?.startsWith('`') && opened[2]?.includes('`'))) {
      end()
      fence = opened[1] ?? null
      continue
    }
    unsure ||= HIDES_ALL.test(line)
    hides ||= HIDES.test(line)
    const markers = MARKERS.exec(line)?.[0] ?? ''
    if (length === 0 && !markers && !/^[ \t>]/.test(line)) endList()
    if (markers) endItem()
    length += line.length + 1
    item += line.length + 1
    const quotes = QUOTES.exec(line)?.[0] ?? ''
    if (markers) items++
    else if (items > 0) lazy++
    // Spaces beside markers add depth too, two for a level, in lists that are nested over many lines.
    const marks = (markers || quotes).replace(/[ \t]/g, '').length
    const indent = markers ? (/^[ \t]*/.exec(line)?.[0].length ?? 0) / 2 : 0
    if (markers) depth = Math.max(depth, marks + indent)
    if (marks + indent > DEEPEST && !(BREAK.test(line) && line.length < 200)) return INFINITE
    if (/^ {0,3}(?:\$\$|\\\[)/.test(line)) formulas++
    if (columns > 0) effort += columns * 600
    else if (line.includes('-') && ROW.test(line) && before.includes('|')) columns = line.split('|').length
    before = line
  }
  end()
  endList()
  return effort
}
