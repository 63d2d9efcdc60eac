/**
 * The text of a note as Markdown: links to notes, embeds and tags become links and pictures with addresses of their own, comments
 * and block ids are left out. Finds them as the server does (`src/retrieval/note/scan.rs`). Nothing in code changes.
 */

/** What the addresses begin with that a link, an embed and a tag get. A note cannot write the one of embeds itself: they are counted. */
export const LINK = 'note:'
export const EMBED = `note-embed-${Math.random().toString(36).slice(2, 10)}:`
export const TAG = 'note-tag:'

const LONGEST_LINK = 1024
const LONGEST_CODE = 4096
const FENCE = /^[ \t>]*(`{3,}|~{3,})(.*)$/
const ITEM = /^[ \t>]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/
const BLOCK_ID = /(^|\s)\^[a-zA-Z0-9-]+\s*$/
/** A tag after its `#`. */
export const TAG_TEXT = /^(?:[\p{L}\p{N}_\-/\p{M}\p{So}]|\u200d|\ufe0f)+/u
const ONLY_DIGITS = /^[\p{N}/]+$/u

export interface WrittenLink {
  /** The file as it is written; empty for a place in the same note. */
  target: string
  /** `#heading` or `#^block`, without the first `#`; empty for the whole file. */
  place: string
  label: string
  /** A label was written. */
  labelled: boolean
}

/** Reads what stands between `[[` and `]]`; null if it is no link. */
export function readLink(written: string): WrittenLink | null {
  if (written.includes('[') || written.trim() === '') return null
  const bar = written.indexOf('|')
  // In a table, the bar is escaped.
  const whole = (bar < 0 ? written : written.slice(0, bar)).replace(/\\$/, '')
  const label = bar < 0 ? '' : written.slice(bar + 1).trim()
  const at = whole.search(/[#^]/)
  const target = (at < 0 ? whole : whole.slice(0, at)).trim()
  const place = at < 0 ? '' : whole.slice(at).replace(/^#/, '').trim()
  const shown = [target, ...place.split('#')].filter(part => part !== '').join(' › ')
  return { target, place, label: label || shown, labelled: label !== '' }
}

/** The tag that a text begins with after its `#`; empty if it is none. */
export function tagIn(text: string): string {
  const tag = TAG_TEXT.exec(text)?.[0] ?? ''
  return ONLY_DIGITS.test(tag) ? '' : tag
}

const escaped = (text: string): string => text.replace(/[!-/:-@[-`{-~]/g, '\\$&')
/** Parentheses and signs of emphasis would end an address, or mean something in it. */
const address = (scheme: string, text: string): string =>
  scheme + encoded(text).replace(/[!'()*_~]/g, char => `%${char.charCodeAt(0).toString(16)}`)

function encoded(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    // Half of a character.
    return encodeURIComponent(text.replace(/[\ud800-\udfff]/g, '\ufffd'))
  }
}

/** The address of a link or an embed, and back. */
export const addressOf = (scheme: string, { target, place, label, labelled }: WrittenLink): string =>
  address(scheme, `${target}#${place}|${labelled ? label : ''}`)

export function readAddress(href: string): { target: string; place: string; label: string } | null {
  const text = decode(href.slice(href.indexOf(':') + 1))
  const hash = text.indexOf('#')
  const bar = text.indexOf('|', hash)
  if (hash < 0 || bar < 0) return null
  return { target: text.slice(0, hash), place: text.slice(hash + 1, bar), label: text.slice(bar + 1) }
}

export function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Pictures that a browser shows from their bytes. */
export const PICTURE = /\.(png|jpe?g|gif|webp|avif)$/i

/** The Markdown of a note without its front matter. After `most` embedded notes, further ones are links. */
export function linked(text: string, most = Number.POSITIVE_INFINITY): string {
  const scan = new Scan(most)
  return text
    .split(/\r?\n/)
    .map(line => scan.line(line))
    .join('\n')
}

class Scan {
  private fence: string | null = null
  private comment = false
  private inList = false
  private afterBlank = true

  constructor(private embedsLeft: number) {}

  line(line: string): string {
    if (!this.comment) {
      const found = FENCE.exec(line)
      const run = found?.[1] ?? ''
      const isFence = found !== null && !(run.startsWith('`') && found[2]?.includes('`'))
      if (this.fence !== null) {
        const closes = isFence && run.startsWith(this.fence) && found[2]?.trim() === ''
        if (closes) this.fence = null
        return line
      }
      if (isFence) {
        this.fence = run
        return line
      }
      if (this.isCode(line)) return line
    }
    const shown = this.inline(line)
    return this.comment ? shown : shown.replace(BLOCK_ID, '$1')
  }

  /** Whether a line is code because it is indented. */
  private isCode(line: string): boolean {
    const blank = line.trim() === ''
    const indented = /^(?: {4}|\t)/.test(line)
    const isItem = ITEM.test(line)
    if (isItem && !(indented && !this.inList)) this.inList = true
    else if (!blank && !/^[ \t]/.test(line) && this.afterBlank) this.inList = false
    const isCode = indented && !blank && !this.inList && this.afterBlank
    // The next line of code follows this one.
    this.afterBlank = blank || isCode
    return isCode
  }

  private inline(line: string): string {
    let out = ''
    let at = 0
    while (at < line.length) {
      if (this.comment) {
        const end = line.indexOf('%%', at)
        this.comment = end < 0
        at = end < 0 ? line.length : end + 2
        continue
      }
      const [text, next] = this.piece(line, at)
      out += text
      at = next
    }
    return out
  }

  /** What stands for the piece of a line that begins at `at`, and where it ends. */
  private piece(line: string, at: number): [string, number] {
    const char = line[at] ?? ''
    if (char === '\\') return [line.slice(at, at + 2), at + 2]
    if (char === '`') {
      const end = afterCode(line, at)
      return [line.slice(at, end), end]
    }
    if (line.startsWith('%%', at)) {
      this.comment = true
      return ['', at + 2]
    }
    const embeds = line.startsWith('![[', at)
    if (embeds || line.startsWith('[[', at)) {
      const from = at + (embeds ? 3 : 2)
      const length = line.slice(from, from + LONGEST_LINK).search(/[[\]]/)
      const closes = length >= 0 && line.startsWith(']]', from + length)
      const link = !closes ? null : readLink(line.slice(from, from + length))
      if (!link) return [line.slice(at, from), from]
      const shows = embeds && (PICTURE.test(link.target) || this.embedsLeft-- > 0)
      const scheme = shows ? EMBED : LINK
      const markdown = `${shows ? '!' : ''}[${escaped(link.label)}](${addressOf(scheme, link)})`
      return [markdown, from + length + 2]
    }
    if (char === '#' && (at === 0 || /\s/.test(line[at - 1] ?? ''))) {
      const tag = tagIn(line.slice(at + 1, at + 1 + LONGEST_LINK)).replace(/\/+$/, '')
      if (tag !== '') return [`[${escaped(`#${tag}`)}](${address(TAG, tag)})`, at + 1 + tag.length]
    }
    // Anything that means nothing here, as far as it goes.
    const rest = line.slice(at + 1).search(/[\\`%![#]/)
    const end = rest < 0 ? line.length : at + 1 + rest
    return [line.slice(at, end), end]
  }
}

/** Where the code that begins at `at` ends, or its backticks if nothing closes it. */
function afterCode(line: string, at: number): number {
  const run = (from: number) => /^`*/.exec(line.slice(from, from + LONGEST_CODE))?.[0].length ?? 0
  const length = run(at)
  const end = Math.min(line.length, at + length + LONGEST_CODE)
  for (let i = at + length; i < end; ) {
    const next = line.indexOf('`', i)
    if (next < 0 || next >= end) break
    const other = run(next)
    if (other === length) return next + other
    i = next + other
  }
  return at + length
}

/** A passage as a person reads it: links are their labels, comments are left out. */
export const readable = (text: string): string =>
  text
    .replace(/!?\[\[([^[\]\n]{1,1024})\]\]/g, (whole, written: string) => readLink(written)?.label ?? whole)
    .replace(/%%[\s\S]*?(?:%%|$)/g, '')
    .split('\n')
    .map(line => line.trimEnd())
    .join('\n')

/** Characters of an excerpt before the words that it is about. */
const BEFORE = 60
const FIELDS = /^\s*---[ \t]*\n[\s\S]*?\n---[ \t]*(?:\n|$)/

/** The part of a passage to show where there is room for a few lines: around the first line with the most of the words. */
export function excerptOf(passage: string, words: readonly string[]): string {
  const text = readable(passage.replace(FIELDS, '')).trim() || readable(passage).trim()
  const wanted = words.map(word => word.toLowerCase())
  let best = { at: 0, count: 0 }
  let at = 0
  for (const line of text.toLowerCase().split('\n')) {
    const count = wanted.filter(word => line.includes(word)).length
    if (count > best.count) best = { at, count }
    at += line.length + 1
  }
  return best.at > BEFORE ? `…\n${text.slice(best.at)}` : text
}

/** A longer line is no heading that anyone links to, and would take long to read. */
const LONGEST_HEADING = 400
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*)$/s
const plainHeading = (text: string): string =>
  readable(text)
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .toLowerCase()

/** The part of a note that an embed or a link names: below a heading, or a block; null if there is none. */
export function partOf(text: string, place: string): { text: string; line: number } | null {
  const lines = text.split(/\r?\n/)
  if (place.startsWith('^')) {
    const id = place.slice(1)
    const at = lines.findIndex(line => line.trimEnd().endsWith(`^${id}`))
    if (at < 0) return null
    let first = at
    // An id on a line of its own belongs to the block above.
    if (lines[at]?.trim() === `^${id}`) {
      first = Math.max(0, at - 1)
      while (first > 0 && lines[first]?.trim() === '') first--
    }
    while (first > 0 && lines[first - 1]?.trim() !== '' && !ITEM.test(lines[first] ?? '')) first--
    return { text: lines.slice(first, at + 1).join('\n'), line: first + 1 }
  }
  const wanted = plainHeading(place.split('#').at(-1) ?? '')
  let fence = false
  let first = -1
  let level = 0
  for (const [i, line] of lines.entries()) {
    if (/^ {0,3}(?:```|~~~)/.test(line)) fence = !fence
    const found = fence || line.length > LONGEST_HEADING ? null : HEADING.exec(line)
    if (!found) continue
    const own = found[1]?.length ?? 0
    if (first < 0 && plainHeading(found[2] ?? '') === wanted) [first, level] = [i, own]
    else if (first >= 0 && own <= level) return { text: lines.slice(first, i).join('\n'), line: first + 1 }
  }
  return first < 0 ? null : { text: lines.slice(first).join('\n'), line: first + 1 }
}
