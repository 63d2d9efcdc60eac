import { expect, it } from 'vitest'
import { markTerms } from '@/features/retrieval/marked'

const marked = (text: string, ...terms: string[]) =>
  markTerms(text, terms).flatMap(stretch => (stretch.marked ? [stretch.text] : []))

it('marks the words that begin with a stem, whatever their case', () => {
  expect(marked('Keys and the key; monkey.', 'key')).toEqual(['Keys', 'key'])
  expect(marked('Memory, memories', 'memori')).toEqual(['Memory', 'memories'])
})

it('marks Chinese wherever it stands, neighbours as one', () => {
  expect(marked('企鹅不会飞，鸵鸟会跑。', '鸵鸟', '企鹅', '鹅不')).toEqual(['企鹅', '鸵鸟'])
  expect(marked('密钥密钥', '密钥')).toEqual(['密钥密钥'])
})

it('takes a term for what it says, not for a pattern', () => {
  expect(marked('c++ a.b axb', 'c++', 'a.b')).toEqual(['c++', 'a.b'])
  expect(marked('anything')).toEqual([])
})

it('loses no character', () => {
  const text = 'The keys 企鹅, the end.'
  expect(
    markTerms(text, ['key', '企鹅', 'end'])
      .map(stretch => stretch.text)
      .join(''),
  ).toBe(text)
})
