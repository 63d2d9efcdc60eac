/** Character references (`&mdash;`, `&#8212;`) as the characters they stand for, as CommonMark has them. */

const REFERENCE = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|[a-zA-Z][a-zA-Z0-9]{1,31});/g
const UNKNOWN = '\ufffd'

let box: HTMLTextAreaElement | undefined

/** By the browser's own list of names. The text of a text area is read for references and never for tags. */
function named(reference: string): string {
  box ??= document.createElement('textarea')
  box.innerHTML = reference
  const { value } = box
  // Names that HTML knows without their semicolon are read at the beginning of a longer one: `&copycat;`.
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
