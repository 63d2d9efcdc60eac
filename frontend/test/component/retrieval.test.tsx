import { fireEvent, render, screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Hit } from '@/api/types'
import { RetrievalCard } from '@/features/chat/RetrievalCard'
import { rendererOfTool } from '@/features/chat/tools'
import type { Step } from '@/thread/model'
import { hit, how, search } from '../unit/searches'

// The page loads it on demand, which takes a second on a busy machine.
beforeAll(() => import('@/features/retrieval/Found'))

const card = (id: string, bare = false) => {
  const { hits, ...note } = search()
  const plain = hits.map(({ how, ...hit }) => hit)
  const shown = render(
    <RetrievalCard
      id={id}
      query={note.query}
      hits={bare ? plain : hits}
      search={{ ...note, near_misses: bare ? [] : note.near_misses, hits: [] }}
    />,
  )
  fireEvent.click(screen.getByText('2 passages retrieved'))
  return shown
}

describe('the card of passages', () => {
  it('is one line until it is opened, and absent where nothing was found', () => {
    const { hits, ...note } = search()
    const { container, unmount } = render(
      <RetrievalCard id="one line" query={note.query} hits={hits} search={{ ...note, hits: [] }} />,
    )
    expect(container.querySelector('details')?.open).toBe(false)
    unmount()
    const nothing = { ...note, near_misses: [], hits: [] }
    const none = render(<RetrievalCard id="none" query="x" hits={[]} search={nothing} />)
    expect(none.container.innerHTML).toBe('')
  })

  it('folds each weak match, and marks the words of the question', async () => {
    const { hits, ...note } = search()
    const weak = { ...hit('knowledge/far.md', [1, 2], how(9, null, 0.2)), weak: true }
    const near = { ...(hits[0] as Hit), text: 'The keys are here.' }
    const withheld = { ...note, hits: [], withheld: 1 }
    render(<RetrievalCard id="weak" query={note.query} hits={[near, weak]} search={withheld} />)
    fireEvent.click(screen.getByText('1 passage retrieved, 1 weak match withheld'))
    expect((await screen.findByText('keys')).localName).toBe('mark')
    screen.getByText('This weak match probably doesn’t answer the question, so the model didn’t receive it.')
    expect(screen.queryByText(weak.text)).toBeNull()
    await userEvent.click(screen.getByText('weak'))
    expect(screen.getByText(weak.text)).toBeTruthy()
    expect(screen.getByRole('link', { name: /far\.md/ })).toBeTruthy()
  })

  it('shows what came near if nothing was found', async () => {
    const { hits: _, ...note } = search()
    const n = note.near_misses.length
    expect(n).toBeGreaterThan(0)
    render(<RetrievalCard id="near" query={note.query} hits={[]} search={{ ...note, hits: [] }} />)
    await userEvent.click(screen.getByText(`No passage retrieved, ${n} near ${n === 1 ? 'miss' : 'misses'}`))
    const source = note.near_misses[0]?.hit.source ?? ''
    expect(await screen.findByRole('link', { name: new RegExp(source) })).toBeTruthy()
  })

  it('says whether weak matches were withheld', async () => {
    const { hits: _, ...note } = search()
    const weak = { ...hit('knowledge/far.md', [1, 2], how(9, null, 0.2)), weak: true }
    const received = render(
      <RetrievalCard id="received" query="x" hits={[weak]} search={{ ...note, hits: [] }} />,
    )
    await userEvent.click(screen.getByText('No good match, 1 weak match retrieved'))
    expect(await screen.findByText('This weak match probably doesn’t answer the question.')).toBeTruthy()
    received.unmount()
    render(
      <RetrievalCard id="withheld" query="x" hits={[weak]} search={{ ...note, hits: [], withheld: 1 }} />,
    )
    expect(screen.getByText('No good match, 1 weak match withheld')).toBeTruthy()
  })

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
  it('shows no passages for other tools and unknown shapes', async () => {
    for (const [tool, result] of [
      ['terminal', { data: { hits: [] } }],
      ['search_memory', undefined],
      ['search_memory', { data: {} }],
      ['search_memory', { data: { hits: [1] } }],
    ] as const) {
      const { unmount } = render(details('t2', step(tool, result)))
      expect(await screen.findByRole('region', { name: 'Output' })).toBeTruthy()
      expect(screen.queryByRole('region', { name: 'Passages' })).toBeNull()
      unmount()
    }
  })
})
