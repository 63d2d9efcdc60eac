import { describe, expect, it } from 'vitest'
import { citedIn, hrefOfMessage, messageOf, quotedIn, quoteIn, wordsFound } from '@/lib/messageCitation'

describe('the place of a message', () => {
  it('is the source of a hit in a conversation, and never that of a file', () => {
    expect(messageOf('old:w1.0')).toEqual({ session: 'old', message: 'w1.0' })
    expect(messageOf('memory/MEMORY.md')).toBeNull()
    expect(messageOf('project/a/b:c')).toBeNull()
    expect(hrefOfMessage({ session: 'old', message: 'sha256:ab' })).toBe('/s/old/m/sha256%3Aab')
  })
})

describe('the words that were found', () => {
  it('are those that begin with a term', () => {
    expect(wordsFound('My landlord is called Zelnik. Landlords!', ['landlord', 'name'])).toBe(
      'landlord landlords',
    )
    expect(wordsFound('三月的发票在这里', ['发票', '四月'])).toBe('发票')
    expect(wordsFound('One two three', ['none'])).toBe('One two three')
    expect(wordsFound('', [])).toBe('')
  })
})

describe('a quotation in the output of a search', () => {
  const output = [
    'What was said in past conversations, with the words quoted:',
    '',
    '[1] Rent',
    '[old:q1] user, 2026-11-28T07:00:00Z',
    '> My landlord',
    '> is Zelnik.',
    '[old:a1] assistant',
    '> Noted.',
  ].join('\n')
  it('is what follows its place', () => {
    expect(quoteIn(output, { session: 'old', message: 'q1' })).toBe('My landlord\nis Zelnik.')
    expect(quoteIn(output, { session: 'old', message: 'a1' })).toBe('Noted.')
    expect(quoteIn(output, { session: 'old', message: 'a2' })).toBeNull()
  })
})

describe('what an answer cites', () => {
  const id = (n: number) => `01a22139-7906-7700-b54a-00000000000${n}`

  it('is the first message of each conversation', () => {
    const text = `One [a:${id(1)}], two [b:m3] and [a:${id(2)}], not [c:d] or [memory/a.md:1].`
    expect(citedIn(text)).toEqual([
      { session: 'a', message: id(1) },
      { session: 'b', message: 'm3' },
    ])
    expect(citedIn('')).toEqual([])
  })

  it('is shown without the marks that the model reads', () => {
    expect(quotedIn('[a:m1] user, 2026\n> One\n> two\n[a:m2] assistant\n> Three')).toBe('One\ntwo\nThree')
    expect(quotedIn('Plain words')).toBe('Plain words')
  })
})
