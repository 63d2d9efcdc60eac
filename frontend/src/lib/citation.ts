/**
 * Citations in a text: `[knowledge/a.md:12-20]`, or the same without its brackets. Only paths of the four folders count,
 * and only with a line: a path alone is a word like any other.
 */

import { FileRef, ROOTS } from './roots'

export type Lines = readonly [first: number, last: number]

export interface Place {
  path: string
  /** Counted from 1; null for the whole file. */
  lines: Lines | null
}

/** A stretch of plain text, or a citation with the very characters it was written in. */
export type Piece = string | { text: string; place: Place }

const ROOT = `(?:${ROOTS.join('|')})/`
const LINES = ':(\\d{1,7})(?:[-–](\\d{1,7}))?'
/** What may stand in a path that nothing encloses. A folder's name after anything but `/` begins another path. */
const BARE = `(?:(?!(?<=[^/\\w.-])${ROOT})[^\\s:;,!?|*<>()[\\]{}"'\`\\\\，。；：、！？（）【】《》「」“”‘’…])+`
const CITATION = new RegExp(
  `\\[ ?(?:\\./)?(${ROOT}[^[\\]\\n:]+)${LINES} ?\\]` +
    `|(?<![\\w./\\\\:@~-])(?:\\./)?(${ROOT}${BARE})${LINES}(?!\\d|[-–]\\d|[A-Za-z_])`,
  'g',
)
const WHOLE = new RegExp(`^\\[? ?(?:\\./)?(${ROOT}[^:\\n]+?)(?:${LINES})? ?\\]?$`)
const LONGEST = 1024

/** True of what the server takes for a path below one of the four folders. */
export function isHomePath(path: string): boolean {
  const names = path.split('/')
  const plain = Array.from(path).every(char => char >= ' ' && char !== '\\' && char !== '\u007f')
  const climbs = names.some(name => name === '' || name === '.' || name === '..')
  return plain && !climbs && names.length > 1 && path.length <= LONGEST && FileRef.parse(path) !== null
}

function placeFrom(path: string | undefined, from?: string, to?: string): Place | null {
  if (!path || !isHomePath(path.trim())) return null
  if (from === undefined) return { path: path.trim(), lines: null }
  const a = Number(from)
  const b = Number(to ?? from)
  return a > 0 && b > 0 ? { path: path.trim(), lines: [Math.min(a, b), Math.max(a, b)] } : null
}

/** The place that a whole text names, with or without a line. */
export function placeOf(text: string): Place | null {
  const found = WHOLE.exec(text.trim())
  return found && placeFrom(found[1], found[2], found[3])
}

/**
 * Cuts a text at its citations. Of a text that still grows (`growing`), a citation at the very end stays text until the
 * next character shows that its number is complete: a link that changes its mind would flicker.
 */
export function citations(text: string, growing = false): Piece[] {
  const pieces: Piece[] = []
  let done = 0
  for (const found of text.matchAll(CITATION)) {
    const [whole, path, from, to, bare, bareFrom, bareTo] = found
    const end = found.index + whole.length
    const mayGrow = growing && bare !== undefined && /^[-–]?$/.test(text.slice(end))
    const place = mayGrow ? null : placeFrom(path ?? bare, from ?? bareFrom, to ?? bareTo)
    if (!place) continue
    if (found.index > done) pieces.push(text.slice(done, found.index))
    pieces.push({ text: whole, place })
    done = end
  }
  if (done < text.length) pieces.push(text.slice(done))
  return pieces
}
