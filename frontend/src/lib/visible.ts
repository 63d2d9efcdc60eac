/**
 * Characters that may change how a text looks without being visible: controls, direction marks, joiners, fillers,
 * unusual spaces, and what this browser's Unicode data does not know. They are written out where a person decides by
 * what they read. The single ones render as nothing although their properties say otherwise; the server lists the
 * same (domain/visible.rs).
 */
export const UNSEEN =
  /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u{13430}-\u{1345f}\u{16fe4}\u{1d159}]|(?![ \u3000])\p{Zs}/gu

/** The escape sequence of such a character. */
export const written = (char: string): string => {
  const code = char.codePointAt(0) ?? 0
  const hex = code.toString(16)
  return code > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`
}

export interface Piece {
  text: string
  /** It stands for an invisible character. */
  unseen: boolean
}

/** Splits a text into pieces; line breaks and tabs stay as they are. */
export function visible(text: string): Piece[] {
  const pieces: Piece[] = []
  let from = 0
  for (const match of text.matchAll(UNSEEN)) {
    const [char] = match
    if (char === '\n' || char === '\t') continue
    if (match.index > from) pieces.push({ text: text.slice(from, match.index), unseen: false })
    pieces.push({ text: written(char), unseen: true })
    from = match.index + char.length
  }
  if (from < text.length) pieces.push({ text: text.slice(from), unseen: false })
  return pieces
}
