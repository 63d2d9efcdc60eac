import { Lexer } from 'marked'
import { expect, it } from 'vitest'
import { headingLevels } from '@/components/markdown/levels'

const levels = (text: string): number[] =>
  headingLevels(new Lexer().lex(text).map((token, id) => ({ id, tokens: [token] }))).filter(
    level => level > 0,
  )

it('an answer starts below the page’s headings and never skips a level', () => {
  expect(levels('# a\n## b\n### c\n# d')).toEqual([3, 4, 5, 3])
  expect(levels('### a\n# b\n###### c')).toEqual([3, 3, 4])
})
