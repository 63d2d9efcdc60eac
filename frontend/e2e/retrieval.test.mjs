// What a conversation shows of a search: the passages, why they were found, and what was nearly found.
// REAL SERVER: the frames are put into the stream by hand until the server sends them like this; then the same is asked with
// retrieval switched on, and with a scripted call of search_knowledge_base.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { catchStream, emit, fakeSearch } from './fake-retrieval.mjs'
import { answers, openPage, say, settled, shot, startBrowser, startMiniclaw } from './harness.mjs'

/** One answer a test, each waiting for its gate: a gate that was opened stays open. */
const GATES = ['why', 'open', 'tool', 'old']
const REPLIES = GATES.map(gate => ({
  match: `key (${gate})`,
  steps: [{ gate }, { text: 'Into the file .env [knowledge/setup-and-keys.md:5-9].' }, { finish: 'stop' }],
}))
const QUESTION = 'where do I put my API key'

let app
let browser
before(async () => {
  app = await startMiniclaw(REPLIES)
  browser = await startBrowser()
})
after(async () => {
  await browser?.close()
  await app?.stop()
})

/** Asks the question and, before the answer comes through its gate, tells the page of `frames`. */
async function askWith(gate, frames) {
  const { page, close } = await openPage(browser, app, { prepare: page => catchStream(page.context()) })
  await say(page, `${QUESTION} (${gate})`)
  await page.waitForURL(/\/s\//)
  await answers(page).waitFor()
  const session_id = new URL(page.url()).pathname.split('/').pop()
  for (const frame of frames) await emit(page, { type: 'frame', session_id, frame })
  return { page, close }
}

const card = page => answers(page).locator('details', { hasText: 'passages found' })

test('the card says for each passage where it stands and why it was found', async () => {
  const { hits, ...search } = await fakeSearch(app, { query: QUESTION, folder: 'knowledge' })
  const { page, close } = await askWith('why', [
    { type: 'retrieval', query: QUESTION, results: hits, search },
  ])
  await card(page).locator('a.passage').first().waitFor()
  const first = card(page).getByRole('listitem').first()
  await first.getByText('Why', { exact: true }).click()
  const { lexical, vector, fused } = hits[0].how
  const figures = [0.35, vector.share, 0.65, lexical.share, fused].map(n => n.toFixed(2))
  const [a, b, c, d, sum] = figures
  await first.getByText(`${a} × ${b} + ${c} × ${d} = ${sum}`).waitFor()
  for (const { term, score } of lexical.terms) {
    const row = first
      .getByRole('list', { name: 'What each word adds' })
      .getByRole('listitem')
      .filter({ hasText: term })
    await row.getByText(score.toFixed(2)).waitFor()
  }
  await card(page).getByText('near misses').click()
  await card(page).getByText('behind').first().waitFor()
  await shot(page, 'card-why')
  await app.openGate('why')
  await settled(page)
  await close()
})

test('a passage opens in the inspector at its lines', async () => {
  const { hits, ...search } = await fakeSearch(app, { query: QUESTION, folder: 'knowledge' })
  const { page, close } = await askWith('open', [
    { type: 'retrieval', query: QUESTION, results: hits, search },
  ])
  await card(page).locator('a.passage').first().click()
  const marked = page.locator('#pane-right .cm-passage')
  await marked.first().waitFor()
  const [from] = hits[0].lines
  const line = hits[0].text.split('\n')[0]
  assert.equal(await marked.first().textContent(), line, `line ${from} of ${hits[0].source}`)
  await app.openGate('open')
  await settled(page)
  await close()
})

test('a search tool shows its passages, and its output links them', async () => {
  const { hits, weights, near_misses, query } = await fakeSearch(app, {
    query: QUESTION,
    folder: 'knowledge',
  })
  const places = hits.map(({ text, ...hit }) => hit)
  const output = hits
    .map((hit, i) => `[${i + 1}] ${hit.source}:${hit.lines.join('-')}\n${hit.text}`)
    .join('\n\n')
  const call = { tool: 'search_knowledge_base', id: 'k1' }
  const { page, close } = await askWith('tool', [
    { type: 'tool_start', ...call, input: query, arguments: { query }, index: 0, dialogue: 0 },
    {
      type: 'tool_end',
      ...call,
      output,
      status: 'done',
      operation_code: [query],
      duration_ms: 2,
      result: { status: 0, message: '3 passages found', data: { query, hits: places, weights, near_misses } },
    },
  ])
  await answers(page).locator('summary', { hasText: 'search_knowledge_base' }).click()
  const found = answers(page).getByRole('region', { name: 'Passages' })
  assert.equal(await found.getByRole('list').first().locator('> li').count(), 3)
  await found.getByText('Why', { exact: true }).first().click()
  await found.getByText('BM25').first().waitFor()
  const linked = answers(page).getByRole('region', { name: 'Output' }).locator('a.passage')
  assert.equal(await linked.first().textContent(), `${hits[0].source}:${hits[0].lines.join('-')}`)
  await shot(page, 'tool-passages')
  await app.openGate('tool')
  await settled(page)
  await close()
})

test('passages that came without a why are shown without one', async () => {
  const { hits } = await fakeSearch(app, { query: QUESTION, folder: 'knowledge' })
  const old = hits.map(({ how, ...hit }) => hit)
  const { page, close } = await askWith('old', [{ type: 'retrieval', query: QUESTION, results: old }])
  await card(page).locator('a.passage').first().waitFor()
  assert.equal(await card(page).getByText('Why', { exact: true }).count(), 0)
  await app.openGate('old')
  await settled(page)
  await close()
})
