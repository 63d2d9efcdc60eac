import { render, screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { RetrievalCard } from '@/features/chat/RetrievalCard'
import { rendererOfTool } from '@/features/chat/tools'
import type { Step } from '@/thread/model'
import { search } from '../unit/searches'

const card = (id: string, bare = false) => {
  const { hits, ...note } = search()
  const plain = hits.map(({ how, ...hit }) => hit)
  return render(
    <RetrievalCard
      id={id}
      query={note.query}
      hits={bare ? plain : hits}
      search={{ ...note, near_misses: bare ? [] : note.near_misses, hits: [] }}
    />,
  )
}

describe('the card of passages', () => {
  it('shows where each passage is', async () => {
    card('place')
    const link = await screen.findByRole('link', { name: 'knowledge/words.md:1–5' })
    expect(link.getAttribute('href')).toBe('/?file=knowledge%2Fwords.md&lines=1-5')
    expect(link.getAttribute('title')).toBe('Open knowledge/words.md at lines 1–5')
  })

  it('expands the reason: each term, each share, and the sum', async () => {
    card('why')
    const first = (await screen.findAllByRole('listitem'))[0] as HTMLElement
    await userEvent.click(within(first).getByText('Details'))
    const terms = await within(first).findByRole('list', { name: 'Score per term' })
    expect(terms.textContent).toContain('key8.002× here, in 3 passages')
    expect(first.textContent).toContain('BM25 score 8.00')
    expect(first.textContent).toContain('cosine similarity 0.55')
    expect(first.textContent).toContain('0.20 × 0.50 + 0.80 × 1.00 = 0.90')
  })

  it('expands the near misses, each with its reason', async () => {
    card('misses')
    await userEvent.click(await screen.findByText('2 near misses'))
    expect(screen.getByText(/no terms in common with the question; semantic score 0.20/)).toBeTruthy()
    expect(screen.getByText('0.54 below')).toBeTruthy()
  })

  it('shows passages without an explanation', async () => {
    card('old', true)
    expect(await screen.findByRole('link', { name: 'knowledge/both.md:3–9' })).toBeTruthy()
    expect(screen.queryByText('Details')).toBeNull()
    expect(screen.queryByText(/near miss/)).toBeNull()
  })
})

const step = (tool: string, result: unknown): Step => ({
  id: 'c1',
  tool,
  input: '',
  arguments: {},
  output: '',
  result,
  status: 'done',
  durationMs: 3,
  verdict: null,
  undone: false,
})

describe('search tool', () => {
  const details = (id: string, call: Step) => {
    const { Details } = rendererOfTool(call.tool)
    return <Details id={id} step={call} />
  }

  it('shows passages', async () => {
    const { query, hits, weights, near_misses } = search()
    const data = { query, hits, weights, near_misses }
    render(details('t1', step('search_memory', { status: 0, data })))
    expect(await screen.findByRole('link', { name: 'knowledge/words.md:1–5' })).toBeTruthy()
    expect(screen.getByText('2 near misses')).toBeTruthy()
  })
  it('shows no passages for other tools and unknown shapes', () => {
    for (const [tool, result] of [
      ['terminal', { data: { hits: [] } }],
      ['search_memory', undefined],
      ['search_memory', { data: {} }],
      ['search_memory', { data: { hits: [1] } }],
    ] as const) {
      const { unmount } = render(details('t2', step(tool, result)))
      expect(screen.getByRole('region', { name: 'Output' })).toBeTruthy()
      expect(screen.queryByRole('region', { name: 'Passages' })).toBeNull()
      unmount()
    }
  })
})
