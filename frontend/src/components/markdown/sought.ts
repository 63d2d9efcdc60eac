import { createContext, useContext } from 'react'
import type { Block } from '@/lib/incremental'
import { wordsOf } from '@/lib/needle'

/** The search words for the text below; empty outside a search. */
export const Sought = createContext('')

/** Index of the first part that contains all search words, else of the first that contains any of them, else -1. */
export function useSought(parts: readonly Block[][]): number {
  const words = wordsOf(useContext(Sought).toLowerCase())
  if (words.length === 0) return -1
  const texts = parts.map(pieces =>
    pieces.flatMap(piece => piece.tokens.map(token => token.raw.toLowerCase())).join('\n'),
  )
  const all = texts.findIndex(text => words.every(word => text.includes(word)))
  return all < 0 ? texts.findIndex(text => words.some(word => text.includes(word))) : all
}
