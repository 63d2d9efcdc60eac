import { Lexer, type Token } from 'marked'
import { expect, it } from 'vitest'
import { formula } from '@/lib/math'
import { type MathToken, mathTokens } from '@/lib/mathTokens'

function formulas(text: string): string[] {
  const found: string[] = []
  const walk = (tokens: Token[]): void => {
    for (const token of tokens) {
      if (token.type === 'math' && !(token as MathToken).open) found.push((token as MathToken).tex)
      if ('tokens' in token) walk(token.tokens ?? [])
    }
  }
  walk(new Lexer({ gfm: true, extensions: mathTokens }).lex(text))
  return found
}

it('formulas are found inline and on lines of their own', () => {
  expect(formulas('so $a+b$ and \\(c\\) and $$d$$ here')).toEqual(['a+b', 'c', 'd'])
  expect(formulas('$$\nx\n+ y\n$$\n\n\\[\nz\n\\]')).toEqual(['x\n+ y', 'z'])
  expect(formulas('the sum:\n$$\nx\n$$\nend')).toEqual(['x'])
})

it('prices, shell variables and code are not formulas', () => {
  for (const text of [
    '$5 and $10',
    '$5-$10',
    'echo $HOME and $PATH',
    '`$a$`',
    '```\n$$\na\n$$\n```',
    '\\$a\\$ b',
  ])
    expect(formulas(text), text).toEqual([])
})

it('an unclosed formula is text', () => {
  expect(formulas('$$\nx\n\nand more')).toEqual([])
})

it('a formula renders as MathML without links, or not at all', () => {
  const element = (tex: string) => formula(tex, false) as Element | null
  expect(element('\\frac{1}{2}')?.querySelector('mfrac')).toBeTruthy()
  const hostile = element('\\href{javascript:owned}{x} \\includegraphics{http://h/x}')
  expect(hostile?.querySelectorAll('[href], img, [src], [style]').length ?? 0).toBe(0)
  expect(element('\\frac{1}')).toBeNull()
  expect(element('\\def\\a{\\a\\a}\\a')).toBeNull()
})
