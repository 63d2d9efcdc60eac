import { render } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { Markdown } from '@/components/markdown/Markdown'

const draw = (text: string, streaming = false) =>
  render(<Markdown text={text} streaming={streaming} />).container
const links = (page: HTMLElement) =>
  [...page.querySelectorAll('a.passage')].map(a => [a.textContent, a.getAttribute('href')])

describe('a citation becomes a link to the file and keeps its characters', () => {
  const href = '/?file=knowledge%2Fa.md&lines=12-20'
  const cases: [string, (string | null)[][]][] = [
    ['see [knowledge/a.md:12-20].', [['[knowledge/a.md:12-20]', href]]],
    ['see knowledge/a.md:12-20.', [['knowledge/a.md:12-20', href]]],
    ['see `knowledge/a.md:12-20`.', [['knowledge/a.md:12-20', href]]],
    ['see `[knowledge/a.md:12-20]`.', [['[knowledge/a.md:12-20]', href]]],
    ['**[knowledge/a.md:12-20]**', [['[knowledge/a.md:12-20]', href]]],
    ['- in a list [knowledge/a.md:12-20]', [['[knowledge/a.md:12-20]', href]]],
    ['| a |\n|---|\n| [knowledge/a.md:12-20] |', [['[knowledge/a.md:12-20]', href]]],
    ['## On [knowledge/a.md:12-20]', [['[knowledge/a.md:12-20]', href]]],
    ['[the file](knowledge/a.md:12-20)', [['the file', href]]],
    ['`knowledge/a b.md:7`', [['knowledge/a b.md:7', '/?file=knowledge%2Fa+b.md&lines=7']]],
    [
      'my_file: knowledge/my_own_file.md:7',
      [['knowledge/my_own_file.md:7', '/?file=knowledge%2Fmy_own_file.md&lines=7']],
    ],
  ]
  for (const [text, expected] of cases) {
    it(JSON.stringify(text), () => {
      const page = draw(text)
      expect(links(page)).toEqual(expected)
    })
  }
})

it('text that only looks like a citation stays text', () => {
  for (const text of [
    '```\n[knowledge/a.md:12-20]\n```',
    '    knowledge/a.md:12',
    'knowledge/a.md',
    '[knowledge/../.env:1]',
    '[storage/index:1]',
    '[javascript:alert(1):3]',
    '<a href="/?file=knowledge/a.md">x</a>',
  ])
    expect(links(draw(text)), text).toEqual([])
})

it('a link contains no second link', () => {
  const page = draw('[knowledge/a.md:12-20](https://e.com) [see `memory/a.md:3`](https://e.com)')
  expect(page.querySelectorAll('a').length).toBe(2)
  expect(page.querySelector('a a')).toBeNull()
})

it('markup inside a path is text', () => {
  const page = draw('[knowledge/<img src=x onerror=alert(1)>.md:3]')
  expect(page.querySelector('img')).toBeNull()
})

it('a link keeps its element while text streams in', () => {
  const text = 'It says so [knowledge/a.md:12-20] and also memory/MEMORY.md:7, I think.'
  const { container, rerender } = render(<Markdown text="" streaming />)
  const seen: Element[] = []
  for (let end = 1; end <= text.length; end++) {
    rerender(<Markdown text={text.slice(0, end)} streaming />)
    expect(container.textContent).toBe(text.slice(0, end))
    const now = [...container.querySelectorAll('a.passage')]
    for (const [i, link] of seen.entries()) expect(now[i]).toBe(link)
    seen.splice(0, seen.length, ...now)
  }
  expect(seen.map(link => link.textContent)).toEqual(['[knowledge/a.md:12-20]', 'memory/MEMORY.md:7'])
})
