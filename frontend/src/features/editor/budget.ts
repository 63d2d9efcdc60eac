/**
 * The tokens of a file in a request, while it is edited. The server counts the saved version, and only if the file is
 * part of each request; edits since then are estimated here from the changed range alone.
 */
import { useEffect, useMemo, useState } from 'react'
import { countText } from '@/api/endpoints'
import type { TextTokens } from '@/api/types'
import type { FileRef } from '@/lib/roots'
import type { Buffer } from './buffer'
import { smallestChange } from './replace'

export interface Budget {
  share: TextTokens['share']
  /** Tokens in each request if the file is part of it, otherwise of the whole text. */
  tokens: number
  /** Counted by the server, not estimated from its last count. */
  exact: boolean
  characters: number
  limit: number
  truncated: boolean
}

/** A rough count by kind of letter: within ten percent for prose, and meant only to show the trend. */
export function guessTokens(text: string): number {
  let quarters = 0
  for (const char of text) quarters += char < '\u0250' ? 1 : char < '\u2e80' ? 2 : 4
  return Math.ceil(quarters / 4)
}

/** The server counts Unicode scalar values, JavaScript UTF-16 code units. */
export function charactersOf(text: string): number {
  let n = 0
  for (const _ of text) n++
  return n
}

const trimmed = (text: string): string => text.replace(/^\ufeff+/, '').trim()

export interface Counted {
  text: string
  answer: TextTokens
}

/** Extrapolates the count of `counted` to `text`. */
export function budgetOf(text: string, counted: Counted | null): Budget | null {
  if (!counted) return null
  const { answer } = counted
  const { share, limit } = answer
  const each = share === 'each'
  const known = each ? answer.prompt_tokens : answer.tokens
  if (counted.text === text) {
    const { characters, truncated } = answer
    return { share, tokens: known, exact: true, characters, limit, truncated }
  }
  const whole = each ? trimmed(text) : text
  const characters = charactersOf(whole)
  const truncated = each && characters > limit
  const sent = (from: string) => (each ? [...trimmed(from)].slice(0, limit).join('') : from)
  const tokens = carriedOn(known, sent(counted.text), sent(text))
  return { share, tokens, exact: false, characters, limit, truncated }
}

/** The tokens of `to`, derived from those of `from`: only the changed range is estimated. */
function carriedOn(tokens: number, from: string, to: string): number {
  const change = smallestChange(from, to)
  if (!change) return tokens
  const gone = guessTokens(from.slice(change.from, change.to))
  return Math.max(change.insert === '' ? 0 : 1, tokens - gone + guessTokens(change.insert))
}

/**
 * Counts a saved version. Sends its whole text only if it is part of each request, or if the save returned no count.
 */
async function countSaved(file: FileRef, text: string, saved: number | null): Promise<TextTokens> {
  const rule = await countText(`${file}`, '')
  if (rule.share === 'each' || saved === null) return countText(`${file}`, text)
  return { ...rule, tokens: saved, characters: charactersOf(text) }
}

export function useBudget({ file, text, base: { content }, tokens }: Buffer): Budget | null {
  const [counted, setCounted] = useState<Counted | null>(null)
  useEffect(() => {
    let left = false
    countSaved(file, content, tokens).then(
      answer => left || setCounted({ text: content, answer }),
      // The estimate continues from the previous version.
      () => undefined,
    )
    return () => {
      left = true
    }
  }, [file, content, tokens])
  return useMemo(() => budgetOf(text, counted), [text, counted])
}
