/** Decodes character references (`&mdash;`, `&#8212;`) as CommonMark specifies. */

const REFERENCE = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|[a-zA-Z][a-zA-Z0-9]{1,31});/g
const UNKNOWN = '\ufffd'

let box: HTMLTextAreaElement | undefined

/** Decodes by the browser's own list of names. A textarea parses references in its content, but no tags. */
function named(reference: string): string {
  box ??= document.createElement('textarea')
  box.innerHTML = reference
  const { value } = box
  // HTML also knows some names without a semicolon and matches them at the start of a longer name: `&copycat;`.
  return value.endsWith(';') && reference !== '&semi;' ? reference : value
}

function numbered(code: number): string {
  const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
  return isCharacter ? String.fromCodePoint(code) : UNKNOWN
}

export const decoded = (text: string): string =>
  text.replace(REFERENCE, (reference, decimal?: string, hex?: string) => {
    if (decimal) return numbered(Number.parseInt(decimal, 10))
    return hex ? numbered(Number.parseInt(hex, 16)) : named(reference)
  })
