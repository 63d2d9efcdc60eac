import { expect, it } from 'vitest'
import { fromFirstTerm, markTerms } from '@/features/retrieval/markTerms'

const marked = (text: string, ...terms: string[]) =>
  markTerms(text, terms).flatMap(stretch => (stretch.marked ? [stretch.text] : []))

it('words that begin with a stem are marked, in any case', () => {
  expect(marked('Keys and the key; monkey.', 'key')).toEqual(['Keys', 'key'])
  expect(marked('Memory, memories', 'memori')).toEqual(['Memory', 'memories'])
})

it('Chinese is marked anywhere, and neighbours as one', () => {
  expect(marked('企鹅不会飞，鸵鸟会跑。', '鸵鸟', '企鹅', '鹅不')).toEqual(['企鹅', '鸵鸟'])
  expect(marked('密钥密钥', '密钥')).toEqual(['密钥密钥'])
})

it('a term is literal, not a pattern', () => {
  expect(marked('c++ a.b axb', 'c++', 'a.b')).toEqual(['c++', 'a.b'])
  expect(marked('anything')).toEqual([])
})

it('no character is lost', () => {
  const text = 'The keys 企鹅, the end.'
  expect(
    markTerms(text, ['key', '企鹅', 'end'])
      .map(stretch => stretch.text)
      .join(''),
  ).toBe(text)
})

it('the text starts shortly before the first match if that comes late', () => {
  const late = `${'An introduction that nobody asked for. '.repeat(8)}\nHere is the key to it.`
  expect(fromFirstTerm(late, ['key'])).toBe('… Here is the key to it.')
  expect(fromFirstTerm('The key is first.', ['key'])).toBe('The key is first.')
  expect(fromFirstTerm(late, ['nowhere'])).toBe(late)
  expect(fromFirstTerm(`${'没有标点'.repeat(60)}密钥`, ['密钥'])).toMatch(/^… 没?.*密钥$/)
})
