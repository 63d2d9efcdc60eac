/** What a file costs in a request, while it is typed. */
import { useEffect, useState } from 'react'
import { countText } from '@/api/endpoints'
import type { TextTokens } from '@/api/types'

export interface Budget {
  share: TextTokens['share']
  /** In each request where the file is part of it, of the whole text elsewhere. */
  tokens: number
  /** Counted by the server, and not guessed from what it counted last. */
  exact: boolean
  characters: number
  limit: number
  truncated: boolean
}

const REST = 400

/** A rough count by kind of letter: good to a tenth for prose, and only to show which way it goes. */
export function guessTokens(text: string): number {
  let quarters = 0
  for (const char of text) quarters += char < '\u0250' ? 1 : char < '\u2e80' ? 2 : 4
  return Math.ceil(quarters / 4)
}

/** The server counts Unicode scalar values, JavaScript their halves. */
export function charactersOf(text: string): number {
  let n = 0
  for (const _ of text) n++
  return n
}

const trimmed = (text: string): string => text.replace(/^\ufeff+/, '').trim()

/** What was counted for `counted`, carried on to `text`. */
export function budgetOf(text: string, counted: { text: string; answer: TextTokens } | null): Budget | null {
  if (!counted) return null
  const { answer } = counted
  const { share, limit } = answer
  const each = share === 'each'
  if (counted.text === text) {
    const tokens = each ? answer.prompt_tokens : answer.tokens
    return { share, tokens, exact: true, characters: answer.characters, limit, truncated: answer.truncated }
  }
  const whole = each ? trimmed(text) : text
  const characters = charactersOf(whole)
  const truncated = each && characters > limit
  const sent = truncated ? [...whole].slice(0, limit).join('') : whole
  return { share, tokens: guessTokens(sent), exact: false, characters, limit, truncated }
}

export function useBudget(path: string, text: string): Budget | null {
  const [counted, setCounted] = useState<{ text: string; answer: TextTokens } | null>(null)
  useEffect(() => {
    let left = false
    const ask = () =>
      countText(path, text).then(
        answer => left || setCounted({ text, answer }),
        // The guess stays until the next pause.
        () => undefined,
      )
    const timer = setTimeout(ask, REST)
    return () => {
      left = true
      clearTimeout(timer)
    }
  }, [path, text])
  return budgetOf(text, counted)
}
