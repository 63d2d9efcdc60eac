import { render, screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import type { Report } from '@/api/types'
import { Changes } from '@/features/playground/Changes'
import { TestCases } from '@/features/playground/TestCases'

const report: Report = {
  folder: 'knowledge',
  at: 0,
  k: 3,
  mode: 'lexical',
  cases: 3,
  recall_at_k: 0.5,
  mrr: 0.5,
  latency_ms: { p50: 1, p95: 2 },
  results: [
    { line: 1, query: 'up', expected: 'a.md', rank: 1, found: [] },
    { line: 2, query: 'down', expected: 'b.md', rank: 7, found: [] },
    { line: 3, query: 'lost', expected: 'c.md', rank: null, found: [] },
  ],
  better: [{ line: 1, query: 'up', before: 4, now: 1 }],
  worse: [
    { line: 2, query: 'down', before: 1, now: 7 },
    { line: 3, query: 'lost', before: 2, now: null },
  ],
}

it('regressions come before improvements, each with both ranks', () => {
  render(<Changes folder="knowledge" report={report} />)
  const rows = screen.getAllByRole('listitem').map(row => row.textContent)
  expect(rows).toEqual(['downrank 1 → rank 7', 'lostrank 2 → not found', 'uprank 4 → rank 1'])
  expect(screen.getAllByRole('region').map(region => region.getAttribute('aria-label'))).toEqual([
    'Regressed: 2',
    'Improved: 1',
  ])
})

it('a case shows its own rank even if lines shift, and links to its question', () => {
  const cases = [
    { line: 1, query: 'new' },
    ...report.results.map(r => ({ line: r.line + 1, query: r.query })),
  ]
  render(<TestCases cases={cases} report={report} folder="knowledge" k={3} />)
  const rows = screen.getAllByRole('link')
  expect(rows.map(row => row.textContent)).toEqual([
    '1newnot run',
    '2upa.mdrank 1',
    '3downb.mdrank 7',
    '4lostc.mdnot found',
  ])
  expect(rows[2]?.getAttribute('href')).toBe('/playground?query=down&folder=knowledge')
})
