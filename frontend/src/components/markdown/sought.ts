import { createContext, useContext } from 'react'
import type { Block } from '@/lib/incremental'
import { wordsOf } from '@/lib/needle'

/** What is looked for in the text below; nothing outside a search. */
export const Sought = createContext('')

/** The first of the parts in which all words that are looked for stand, else the first with any of them, else -1. */
export function useSought(parts: readonly Block[][]): number {
  const words = wordsOf(useContext(Sought).toLowerCase())
  if (words.length === 0) return -1
  const texts = parts.map(pieces =>
    pieces.flatMap(piece => piece.tokens.map(token => token.raw.toLowerCase())).join('\n'),
  )
  const all = texts.findIndex(text => words.every(word => text.includes(word)))
  return all < 0 ? texts.findIndex(text => words.some(word => text.includes(word))) : all
}
