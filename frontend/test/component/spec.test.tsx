import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cleanup, render } from '@testing-library/react'
import { type Token, walkTokens } from 'marked'
import { describe, expect, it } from 'vitest'
import { Markdown } from '@/components/markdown/Markdown'
import { lex } from '@/lib/markdown/lex'
import { canonical, drawn, type Example, expected, withTabs } from '../spec/canonical'

const commonmark: Example[] = createRequire(import.meta.url)('commonmark-spec').tests
const gfm: Example[] = JSON.parse(readFileSync('test/spec/gfm.json', 'utf8')).tests

/**
 * Examples of CommonMark that are rendered differently on purpose; docs/markdown.md says why. Examples with raw HTML
 * are recognized by their tokens.
 */
const BARE_ADDRESSES = [602, 608, 611, 612]
const FORMULAS = [12, 14, 563]

const passes = ({ markdown, html }: Example): boolean => {
  const { container } = render(<Markdown text={withTabs(markdown)} />)
  const same = canonical(drawn(container)) === canonical(expected(withTabs(html)))
  cleanup()
  return same
}

function holdsHtml({ markdown }: Example): boolean {
  const types = new Set<string>()
  walkTokens(lex(withTabs(markdown), {}), (token: Token) => void types.add(token.type))
  return types.has('html')
}

describe('the examples of the specifications render as specified', () => {
  const failing = commonmark.filter(example => !passes(example))
  const withHtml = failing.filter(holdsHtml)

  it('CommonMark 0.31.2, except for intended differences', () => {
    const others = failing.filter(example => !withHtml.includes(example)).map(example => example.number ?? 0)
    expect(others).toEqual([...BARE_ADDRESSES, ...FORMULAS].sort((a, b) => a - b))
  })

  it('the extensions of GitHub Flavored Markdown 0.29', () => {
    expect(gfm).toHaveLength(25)
    expect(gfm.filter(example => !passes(example))).toEqual([])
  })

  it('the published pass rate equals the measured one', () => {
    const page = readFileSync('../docs/markdown.md', 'utf8')
    for (const row of [
      `| CommonMark 0.31.2 | ${commonmark.length} | ${commonmark.length - failing.length} |`,
      `| GFM 0.29, extensions | ${gfm.length} | ${gfm.length} |`,
      `| raw HTML | ${withHtml.length} |`,
    ]) {
      expect(page).toContain(row)
    }
    for (const { number } of failing) expect(page).toMatch(new RegExp(`\\b${number}\\b`))
  })

  it('a difference is detected', () => {
    expect(passes({ markdown: '*a*', html: '<p><strong>a</strong></p>', section: '' })).toBe(false)
    expect(passes({ markdown: '*a*', html: '<p><em>a</em></p>', section: '' })).toBe(true)
    expect(passes({ markdown: '- a\n\n- b', html: '<ul><li>a</li><li>b</li></ul>', section: '' })).toBe(false)
  })
}, 60_000)
