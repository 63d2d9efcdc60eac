/**
 * Characters that may change how a text looks without being seen: controls, direction marks, joiners, fillers, odd blanks,
 * and what this browser's Unicode data does not know. Where a person decides by what they read, they are written out.
 * The single ones are drawn as nothing although their properties say otherwise; the server names the same (domain/visible.rs).
 */
export const UNSEEN =
  /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u{13430}-\u{1345f}\u{16fe4}\u{1d159}]|(?![ \u3000])\p{Zs}/gu

/** How such a character is written. */
export const written = (char: string): string => {
  const code = char.codePointAt(0) ?? 0
  const hex = code.toString(16)
  return code > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`
}

export interface Piece {
  text: string
  /** It stands for a character that cannot be seen. */
  unseen: boolean
}

/** The text in pieces; line breaks and tabs stay as they are. */
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
