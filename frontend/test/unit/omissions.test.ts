import { expect, it } from 'vitest'
import type { CompressionPlan, Mention } from '@/api/types'
import { missingFrom, tokensWith, withAdded } from '@/features/compress/omissions'

const of = (kind: Mention['kind'], text: string): Mention => ({ kind, text, role: 'user', message: 0 })
const lost = (summary: string, ...mentions: Mention[]) => missingFrom(summary, mentions).map(m => m.text)

it('a name counts as kept only as a whole word', () => {
  const mentions = [of('path', 'src/main.rs'), of('number', '15'), of('id', 'ABC-12')]
  expect(lost('In SRC/main.rs: 15 of abc-12.', ...mentions)).toEqual([])
  expect(lost('In asrc/main.rs: 1500 of ABC-123.', ...mentions)).toEqual(['src/main.rs', '15', 'ABC-12'])
  expect(lost('端口8002在src/main.rs。', of('number', '8002'), mentions[0] as Mention)).toEqual([])
  expect(lost('1500 and then 15', of('number', '15'))).toEqual([])
})

it('a question counts as kept if at least half of its words are', () => {
  const question = of('question', 'Which database should we use for sessions?')
  expect(lost('Open: the database for sessions, which they should choose.', question)).toEqual([])
  expect(lost('They talked about databases.', question)).toEqual([question.text])
  expect(lost('没有提到。', of('question', '为什么启动失败？'))).toEqual(['为什么启动失败？'])
  expect(lost('未解决：启动失败的原因为什么。', of('question', '为什么启动失败？'))).toEqual([])
  // Without words to compare, the whole sentence is compared.
  expect(lost('Why? Because.', of('question', 'Why?'))).toEqual([])
  expect(lost('Because.', of('question', 'Why?'))).toEqual(['Why?'])
})

it('the tokens of an edited summary are estimated from the plan', () => {
  const plan = { tokens_without: 100 } as CompressionPlan
  expect(tokensWith('', plan)).toBe(100)
  expect(tokensWith('a'.repeat(100), plan)).toBe(130)
  expect(tokensWith('企鹅', plan)).toBe(102)
})

it('an added item goes on a line of its own', () => {
  expect(withAdded(' ', 'a.md')).toBe('a.md')
  expect(withAdded('Done.\n', 'a.md')).toBe('Done.\n\na.md')
})
