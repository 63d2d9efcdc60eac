/** The lexer, with a bound on its synchronous work: what may take longer is lexed elsewhere (later.ts). */
import { Lexer, type Token, type Tokens, type TokensList } from 'marked'
import { mathTokens } from '@/lib/mathTokens'
import { blockEffort, inlineEffort } from './effort'

export type Links = TokensList['links']

/** Stands for a text that is shown as it is until it has been lexed. */
export interface DeferredToken extends Tokens.Generic {
  type: 'later'
  raw: string
  /** Whether the text contains blocks or is inline. */
  of: 'blocks' | 'inline'
  links: Links
}

/** Nanoseconds (effort.ts) for one block, for one text, and for each of its characters. */
const MAX_BLOCK_EFFORT = 12e6
const TEXT_EFFORT = 40e6
const EFFORT_PER_CHARACTER = 100
/** Less effort than this is always spent, however much was spent before. */
const NEGLIGIBLE_EFFORT = 20_000
/** Maximum number of tokens, and maximum depth, of one block that can be rendered. */
const MAX_TOKENS = 20_000
const MAX_DEPTH = 100

const lexerWith = (links: Links): Lexer => {
  const lexer = new Lexer({ gfm: true, extensions: mathTokens })
  Object.assign(lexer.tokens.links, links)
  return lexer
}

const deferred = (raw: string, of: DeferredToken['of'], links: Links): DeferredToken => ({
  type: 'later',
  raw,
  of,
  links,
})

/** A text that cannot be lexed or rendered in time: it is shown as written. */
export const plain = (raw: string): Token => ({ type: 'plain', raw })

/** The tokens of a text; each block that may be costly becomes a `later` token. */
export function lex(source: string, links: Links): TokensList {
  const lexer = lexerWith(links)
  const { tokens } = lexer
  if (blockEffort(source) > MAX_BLOCK_EFFORT) {
    tokens.push(deferred(source, 'blocks', links))
    return tokens
  }
  lexer.blockTokens(source.replace(/\r\n|\r/g, '\n'), tokens)
  let left = TEXT_EFFORT + EFFORT_PER_CHARACTER * source.length
  for (const { src, tokens: inside } of lexer.inlineQueue) {
    const effort = inlineEffort(src)
    if (effort > MAX_BLOCK_EFFORT || (effort > left && effort > NEGLIGIBLE_EFFORT)) {
      inside.push(deferred(src, 'inline', tokens.links))
      continue
    }
    left -= effort
    lexer.inlineTokens(src, inside)
    if (!canBeDrawn(inside)) inside.splice(0, inside.length, plain(src))
  }
  lexer.inlineQueue = []
  return tokens
}

/** The tokens of such a text, however long it takes; null if they are too many or too deep. */
export function lexAll({ raw, of, links }: DeferredToken): Token[] | null {
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

/** Counts without recursion, and stops at the limit. */
export function canBeDrawn(tokens: readonly Token[]): boolean {
  let level: readonly Token[] = tokens
  let count = 0
  for (let depth = 0; level.length > 0; depth++) {
    count += level.length
    if (depth > MAX_DEPTH || count > MAX_TOKENS) return false
    level = level.flatMap(inside)
  }
  return true
}
