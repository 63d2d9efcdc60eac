import { Lexer, type Token } from 'marked'
import { describe, expect, it } from 'vitest'
import { IncrementalMarkdown } from '@/lib/incremental'
import { mathTokens } from '@/lib/mathTokens'

const DOCUMENTS: Record<string, string> = {
  'setext headings': 'Title\n=====\n\npara\n---\n\ntext',
  'a loose list': '- a\n\n- b\n\n  cont\n\n- c\n\nafter',
  'a list in a list with code': '1. a\n   - b\n     ```js\n     x\n     ```\n2. c\n',
  'a fence in a fence': '````md\n```js\ncode\n```\n````\n\nx',
  'raw html': '<details>\n<summary>s</summary>\n\nbody\n\n</details>\n\np',
  'a table': '| a | b |\n|--|--|\n| 1 | 2 |\n| 3 | 4 |\n\nend',
  'a lazy quote': '> a\nb\n\n> c\n\nd',
  'a link defined late': 'see [x][r] ok\n\n[r]: https://e.com\n\nand [x][r]',
  'no blank lines, an open fence': '# h\ntext\n## h2\n- l\n***\n```\nunclosed',
  'indented code': 'a\nb\nc\n\nd\n\n    code\n\n    more\n\ne',
  'chinese and emphasis': '## 标题\n\n**粗体**和*斜体*，`代码`。\n\n1. 一\n2. 二\n\n> 引用\n',
  formulas:
    'so $a_1 < b$ and \\(c\\), $5 or $10\n$$\nx\n+ y\n= z\n$$\nthen\n\n$$a$$ b\n\n\\[\n- q\n\\]\n\n$$\nopen\n\n- end $$\n',
  tasks: '- [ ] open\n- [x] done\n\ntext\n',
}
const LONG = Array.from({ length: 40 }, (_, i) =>
  Object.values(DOCUMENTS)[i % 9]?.replace('unclosed', `u${i}\n\`\`\``),
).join('\n\n')

/** The rendered part of tokens: without white space, definitions, and the source of each token. */
const drawn = (tokens: Token[]): unknown =>
  JSON.parse(
    JSON.stringify(
      tokens.filter(token => token.type !== 'space' && token.type !== 'def'),
      (key, value) => (key === 'raw' ? undefined : value),
    ),
  )

function* chunks(source: string, seed: number): Generator<string> {
  let state = seed * 7919
  let end = 0
  while (end < source.length) {
    state = (state * 1103515245 + 12345) & 0x7fffffff
    end = Math.min(source.length, end + 1 + (state % (seed % 3 ? 9 : 60)))
    yield source.slice(0, end)
  }
}

function streamed(source: string, seed: number): Token[] {
  const markdown = new IncrementalMarkdown()
  for (const prefix of chunks(source, seed)) markdown.update(prefix)
  markdown.update(source, true)
  return markdown.blocks.flatMap(block => block.tokens)
}

describe('text that arrives in pieces gives the same blocks as the whole text', () => {
  for (const [name, source] of Object.entries({ ...DOCUMENTS, 'a long document': LONG })) {
    it(name, () => {
      const whole = drawn(new Lexer({ gfm: true, extensions: mathTokens }).lex(source))
      for (let seed = 1; seed <= 25; seed++)
        expect(drawn(streamed(source, seed)), `seed ${seed}`).toEqual(whole)
    })
  }
})

it('a finished block keeps its identity while the text grows', () => {
  const markdown = new IncrementalMarkdown()
  markdown.update('# a\n\nfirst\n\nsecond\n')
  const [heading, first] = markdown.blocks
  markdown.update('# a\n\nfirst\n\nsecond\nand more\n\nthird\n\nfourth')
  expect(markdown.blocks[0]).toBe(heading)
  expect(markdown.blocks[1]).toBe(first)
})

it('a text that does not continue the last one starts over', () => {
  const markdown = new IncrementalMarkdown()
  markdown.update('one\n\ntwo', true)
  markdown.update('other', true)
  expect(markdown.blocks).toHaveLength(1)
})
