import { readdirSync, readFileSync } from 'node:fs'
import { Lexer, type Token } from 'marked'
import { expect, it, vi } from 'vitest'
import { IncrementalMarkdown } from '@/lib/incremental'
import { blockEffort, inlineEffort } from '@/lib/markdown/effort'
import { canBeDrawn, lex, lexAll } from '@/lib/markdown/lex'
import { CONSTRUCTS } from './constructs'

/**
 * The estimated effort of the lexer's calls during `run`, in nanoseconds; a call includes those that it makes itself.
 */
function effortOf(run: () => void): number {
  let effort = 0
  let inside = false
  const { blockTokens, inlineTokens } = Lexer.prototype
  const outermost = (add: () => number, call: () => unknown) => {
    if (inside) return call()
    effort += add()
    inside = true
    try {
      return call()
    } finally {
      inside = false
    }
  }
  vi.spyOn(Lexer.prototype, 'blockTokens').mockImplementation(function (this: Lexer, ...given) {
    return outermost(
      () => blockEffort(given[0]),
      () => blockTokens.apply(this, given as Parameters<typeof blockTokens>),
    ) as ReturnType<typeof blockTokens>
  })
  vi.spyOn(Lexer.prototype, 'inlineTokens').mockImplementation(function (this: Lexer, ...given) {
    return outermost(
      () => inlineEffort(given[0]),
      () => inlineTokens.apply(this, given),
    ) as ReturnType<typeof inlineTokens>
  })
  run()
  vi.restoreAllMocks()
  return effort
}

/** Maximum effort for one text, whatever it contains, and the additional maximum for each character. */
const MOST = 60e6
const EACH = 1_000

it('synchronous work is linear in the text, whatever construct it repeats', () => {
  for (const [name, make] of Object.entries(CONSTRUCTS)) {
    for (const n of [1_000, 16_000, 128_000]) {
      const text = make(n)
      expect(
        effortOf(() => lex(text, {})),
        `${name}, ${n}`,
      ).toBeLessThan(MOST + EACH * text.length)
    }
  }
}, 180_000)

it('without the bound, synchronous work exceeds that', () => {
  const text = CONSTRUCTS['emphasis, both kinds']?.(16_000) ?? ''
  const whole = () => {
    const lexer = new Lexer()
    lexer.blockTokens(text, lexer.tokens)
    lexer.inlineTokens('*a_'.repeat(2_000))
  }
  expect(effortOf(whole)).toBeGreaterThan(MOST + EACH * 6_000)
})

it('the bound also holds in wall-clock time', () => {
  const slow: string[] = []
  for (const [name, make] of Object.entries(CONSTRUCTS)) {
    const text = make(64_000)
    const begun = performance.now()
    lex(text, {})
    // It takes a hundredth of this on an ordinary machine; the lexer alone takes up to minutes.
    if (performance.now() - begun > 15_000) slow.push(name)
  }
  expect(slow).toEqual([])
}, 180_000)

it('a text that is slow to lex costs no more when it streams', () => {
  const text = '*a_'.repeat(8_000)
  const markdown = new IncrementalMarkdown()
  const effort = effortOf(() => {
    for (let end = 500; end < text.length; end += 500) markdown.update(text.slice(0, end))
    markdown.update(text, true)
  })
  expect(markdown.blocks.flatMap(block => block.tokens.map(token => token.raw)).join('')).toBe(text)
  expect(effort).toBeLessThan(200e6)
})

const deferred = (tokens: readonly Token[]): Token[] =>
  tokens.flatMap(token => {
    const { tokens: inside = [], items = [] } = token as { tokens?: Token[]; items?: Token[] }
    return [...(token.type === 'later' ? [token] : []), ...deferred([...inside, ...items])]
  })

it('ordinary documents are lexed at once and in full', () => {
  const folders = ['..', '../docs', '../starter/knowledge', '../starter/workspace']
  const files = folders.flatMap(folder =>
    readdirSync(folder)
      // The list of all changes is longer than what people write.
      .filter(name => name.endsWith('.md') && name !== 'CHANGELOG.md')
      .map(name => `${folder}/${name}`),
  )
  expect(files.length).toBeGreaterThan(8)
  const code = Array.from({ length: 2_000 }, (_, i) => `  const x${i} = a[${i}] * b_${i}; // *so*`).join('\n')
  const texts = {
    code: `So:\n\n- do this\n\n\`\`\`ts\n${code}\n\`\`\`\n\nand *that*.`,
    list: Array.from(
      { length: 400 },
      (_, i) => `- item **${i}** with \`code\` and [a link](https://e.com/${i})`,
    ).join('\n'),
    table: `| a | b | c |\n|---|---|---|\n${'| one | *two* | `three` |\n'.repeat(300)}`,
    'a long document': '## A heading\n\nA paragraph with *some* words and `code`.\n\n- one\n- two\n\n'.repeat(
      3_000,
    ),
    paragraph: 'A sentence with *some* emphasis, (brackets) and a [link](https://e.com). '.repeat(40),
    chinese: '一句话，里面有**重点**和`代码`。'.repeat(60),
  }
  const named = [...Object.entries(texts), ...files.map(file => [file, readFileSync(file, 'utf8')] as const)]
  for (const [name, text] of named) expect(deferred(lex(text, {})), name).toEqual([])
})

it('a text lexed elsewhere loses nothing', () => {
  for (const text of [
    `before ${'*a_'.repeat(2_000)} after`,
    `> ${'- '.repeat(60)}deep`,
    '**a** [b][c] '.repeat(900),
  ]) {
    const [token, ...rest] = deferred(lex(text, {}))
    expect(rest).toEqual([])
    expect(text).toContain(token?.raw)
  }
  const links = { c: { href: 'https://e.com', title: null } } as never
  const found = lexAll({ type: 'later', raw: '[b][c]', of: 'inline', links })
  expect(found?.map(token => token.type)).toEqual(['link'])
})

it('tokens that are too many or too deep are not rendered', () => {
  const leaf = { type: 'text', raw: 'x' } as Token
  let deep: Token[] = [leaf]
  for (let i = 0; i < 200; i++) deep = [{ type: 'em', raw: 'x', tokens: deep } as unknown as Token]
  expect(canBeDrawn(deep)).toBe(false)
  expect(canBeDrawn(Array.from({ length: 30_000 }, () => leaf))).toBe(false)
  expect(canBeDrawn(lex('# a\n\n- b\n  - *c*', {}))).toBe(true)
})
