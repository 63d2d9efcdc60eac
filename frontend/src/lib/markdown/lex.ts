/** The lexer, with a bound on what it does at once: what may take longer is left to be lexed elsewhere (later.ts). */
import { Lexer, type Token, type Tokens, type TokensList } from 'marked'
import { mathTokens } from '@/lib/mathTokens'
import { blockEffort, inlineEffort } from './effort'

export type Links = TokensList['links']

/** Stands for a text that is shown as it is until somebody has lexed it. */
export interface LaterToken extends Tokens.Generic {
  type: 'later'
  raw: string
  /** Whether the text holds blocks or stands within one. */
  of: 'blocks' | 'inline'
  links: Links
}

/** Nanoseconds (effort.ts) for one block, for one text, and for each character of it. */
const BLOCK = 12e6
const TEXT = 40e6
const CHARACTER = 100
/** Less than this is lexed however much was lexed before. */
const NOTHING = 20_000
/** More tokens, or deeper ones, in one block are too much to draw. */
const MOST = 20_000
const DEEPEST = 100

const lexerWith = (links: Links): Lexer => {
  const lexer = new Lexer({ gfm: true, extensions: mathTokens })
  Object.assign(lexer.tokens.links, links)
  return lexer
}

const later = (raw: string, of: LaterToken['of'], links: Links): LaterToken => ({
  type: 'later',
  raw,
  of,
  links,
})

/** What nobody can lex or draw in time: the text as it was written. */
export const plain = (raw: string): Token => ({ type: 'plain', raw })

/** The tokens of a text, where each block costs little; a `later` token for each that may not. */
export function lex(source: string, links: Links): TokensList {
  const lexer = lexerWith(links)
  const { tokens } = lexer
  if (blockEffort(source) > BLOCK) {
    tokens.push(later(source, 'blocks', links))
    return tokens
  }
  lexer.blockTokens(source.replace(/\r\n|\r/g, '\n'), tokens)
  let left = TEXT + CHARACTER * source.length
  for (const { src, tokens: inside } of lexer.inlineQueue) {
    const effort = inlineEffort(src)
    if (effort > BLOCK || (effort > left && effort > NOTHING)) {
      inside.push(later(src, 'inline', tokens.links))
      continue
    }
    left -= effort
    lexer.inlineTokens(src, inside)
    if (!canBeDrawn(inside)) inside.splice(0, inside.length, plain(src))
  }
  lexer.inlineQueue = []
  return tokens
}

/** The tokens of such a text, however long it takes; null where they are too many or too deep. */
export function lexAll({ raw, of, links }: LaterToken): Token[] | null {
  const lexer = lexerWith(links)
  const tokens = of === 'blocks' ? lexer.lex(raw) : lexer.inlineTokens(raw)
  return canBeDrawn(tokens) ? Array.from(tokens) : null
}

interface Parts {
  tokens?: Token[]
  items?: Token[]
  header?: Tokens.TableCell[]
  rows?: Tokens.TableCell[][]
}

function inside(token: Token): Token[] {
  const { tokens = [], items = [], header = [], rows = [] } = token as Parts
  return [...tokens, ...items, ...[header, ...rows].flat().flatMap(cell => cell.tokens)]
}

/** Counts without recursion, and no further than it must. */
export function canBeDrawn(tokens: readonly Token[]): boolean {
  let level: readonly Token[] = tokens
  let count = 0
  for (let depth = 0; level.length > 0; depth++) {
    count += level.length
    if (depth > DEEPEST || count > MOST) return false
    level = level.flatMap(inside)
  }
  return true
}
