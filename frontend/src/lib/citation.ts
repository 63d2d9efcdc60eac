/**
 * Citations in a text: `[knowledge/a.md:12-20]`, or the same without brackets. Only paths in the four folders count,
 * and only with a line: a path alone is ordinary text.
 */

import { MESSAGE_CITATION, type MessagePlace } from './messageCitation'
import { FileRef, ROOTS } from './roots'

export type Lines = readonly [first: number, last: number]

export interface Place {
  path: string
  /** 1-based; null for the whole file. */
  lines: Lines | null
}

/** A stretch of plain text, or a citation of a file or of a message with its original characters. */
export type Piece = string | { text: string; place: Place } | { text: string; message: MessagePlace }

const ROOT = `(?:${ROOTS.join('|')})/`
const LINES = ':(\\d{1,7})(?:[-–](\\d{1,7}))?'
/** The characters of a path without brackets. The name of a folder after anything but `/` starts another path. */
const BARE = `(?:(?!(?<=[^/\\w.-])${ROOT})[^\\s:;,!?|*<>()[\\]{}"'\`\\\\，。；：、！？（）【】《》「」“”‘’…])+`
const CITATION = new RegExp(
  `\\[ ?(?:\\./)?(${ROOT}[^[\\]\\n:]+)${LINES} ?\\]` +
    `|(?<![\\w./\\\\:@~-])(?:\\./)?(${ROOT}${BARE})${LINES}(?!\\d|[-–]\\d|[A-Za-z_])` +
    `|${MESSAGE_CITATION}`,
  'g',
)
const WHOLE = new RegExp(`^\\[? ?(?:\\./)?(${ROOT}[^:\\n]+?)(?:${LINES})? ?\\]?$`)
const LONGEST = 1024

/** Whether the server accepts this as a path below one of the four folders. */
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

/** The place that the whole text names, with or without a line. */
export function placeOf(text: string): Place | null {
  const found = WHOLE.exec(text.trim())
  return found && placeFrom(found[1], found[2], found[3])
}

/**
 * Splits a text at its citations. If the text still grows (`growing`), a citation at its very end stays text until
 * the next character shows that the line number is complete: a link that changes its target would flicker.
 */
export function citations(text: string, growing = false): Piece[] {
  const pieces: Piece[] = []
  let done = 0
  for (const found of text.matchAll(CITATION)) {
    const [whole, path, from, to, bare, bareFrom, bareTo, session, message] = found
    const end = found.index + whole.length
    if (session && message) {
      if (found.index > done) pieces.push(text.slice(done, found.index))
      pieces.push({ text: whole, message: { session, message } })
      done = end
      continue
    }
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
