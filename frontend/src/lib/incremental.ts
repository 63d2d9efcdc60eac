/**
 * Append-only block splitter: finished blocks are lexed once, and only the growing tail is lexed again, so the cost
 * of a long answer is linear in its length and not quadratic.
 *
 * A block is finished when a later block has begun on a COMPLETE line: a half-typed "1" or "-" must not close a list.
 * Reference links may be defined after their use; if there are any, the final pass lexes the whole text once.
 */
import type { Token, TokensList } from 'marked'
import { lex } from './markdown/lex'

export interface Block {
  id: number
  tokens: Token[]
}

const isBlank = (token: Token): boolean => token.type === 'space' || token.type === 'def'
const DEFINITION = /^ {0,3}\[(?:\\.|[^[\]\\])+\]:/m

export class IncrementalMarkdown {
  blocks: Block[] = []
  tail: Block | null = null

  private text = ''
  private closed = false
  /** Characters that are part of finished blocks, and characters up to the last complete line. */
  private finished = 0
  private complete = 0
  private nextId = 0
  private links: TokensList['links'] = {}

  update(text: string, final = false): void {
    const same = text === this.text && final === this.closed
    if (same && (this.tail || this.blocks.length > 0)) return
    if (!text.startsWith(this.text) || this.closed) this.reset()
    this.text = text
    this.closed = final
    if (final) this.finish()
    else this.grow()
  }

  private grow(): void {
    const lines = this.text.lastIndexOf('\n') + 1
    if (lines > this.complete) {
      this.complete = lines
      this.promote(this.lex(this.text.slice(this.finished, lines)), 'all but the last')
    }
    const rest = this.lex(this.text.slice(this.finished)).filter(token => !isBlank(token))
    this.tail = rest.length > 0 ? { id: this.nextId, tokens: rest } : null
  }

  private finish(): void {
    if (DEFINITION.test(this.text)) {
      const before = this.blocks
      this.reset()
      this.closed = true
      this.promote(this.lex(this.text), 'all')
      this.blocks = this.blocks.map((block, i) => reuse(before[i], block))
    } else this.promote(this.lex(this.text.slice(this.finished)), 'all')
    this.tail = null
  }

  private lex(source: string): TokensList {
    return lex(source, this.links)
  }

  private reset(): void {
    this.blocks = []
    this.tail = null
    this.finished = 0
    this.complete = 0
    this.nextId = 0
    this.links = {}
    this.closed = false
  }

  private promote(tokens: TokensList, which: 'all' | 'all but the last'): void {
    Object.assign(this.links, tokens.links)
    const last = tokens.findLastIndex(token => token.type !== 'space')
    const ready = which === 'all' ? tokens : tokens.slice(0, Math.max(0, last))
    if (ready.length === 0) return
    const blocks = this.blocks.slice()
    for (const token of ready) {
      this.finished += token.raw.length
      if (!isBlank(token)) blocks.push({ id: this.nextId++, tokens: [token] })
    }
    this.blocks = blocks
  }
}

/** Keeps the old block, and with it its rendered element, if the final pass found the same one in its place. */
const reuse = (before: Block | undefined, now: Block): Block =>
  before && JSON.stringify(before.tokens) === JSON.stringify(now.tokens) ? before : now
