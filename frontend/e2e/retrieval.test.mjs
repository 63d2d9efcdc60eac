// What a conversation shows of a search: the passages, why they were found, and the near misses.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { catchStream, emit, fakeSearch } from './fake-retrieval.mjs'
import { faults, withMiniclaw } from './fixtures.mjs'
import { answers, isRead, openCalls, say, searchFor, settled, shot, until } from './harness.mjs'
import { pdfOf } from './pdf.mjs'

const QUESTION = 'where do I put my API key'
const MEMORY = `# Memory

## Birds

Ada keeps a parrot called Babbage. The parrot speaks French.

## Keys

The API key of the weather service is in the drawer.

## Garden

The roses want water on Mondays.
`
const REPLIES = [
  {
    match: 'look up',
    steps: [
      { tool_call: { id: 'k1', name: 'search_knowledge_base', arguments: { query: QUESTION } } },
      { finish: 'tool_calls' },
    ],
  },
  { match: 'look up', steps: [{ text: 'It goes into .env.' }, { finish: 'stop' }] },
  {
    match: 'which bird runs',
    steps: [
      { tool_call: { id: 'k2', name: 'search_knowledge_base', arguments: { query: 'ostriches run' } } },
      { finish: 'tool_calls' },
    ],
  },
  { match: 'which bird runs', steps: [{ text: 'The ostrich.' }, { finish: 'stop' }] },
  { match: 'made up', repeat: true, steps: [{ text: 'All right.' }, { finish: 'stop' }] },
]

const test = withMiniclaw({
  replies: REPLIES,
  prepare: async app => {
    await writeFile(join(app.home, 'memory/MEMORY.md'), MEMORY)
    await writeFile(join(app.home, 'memory/garden.md'), '# Garden\n\nThe parrot eats the roses.\n')
  },
})

const card = page => answers(page).locator('details', { hasText: 'retrieved' }).last()
const openCard = page => card(page).locator('summary').first().click()
/** Expands the search in the only answer, and returns its passages. */
async function passages(page) {
  await openCalls(answers(page))
  await answers(page).locator('summary', { hasText: 'search_knowledge_base' }).click()
  return answers(page).getByRole('region', { name: 'Passages' })
}
const marked = page => page.locator('#pane-right .cm-passage')

test('the card shows each passage, why it was found, and opens it at its lines', async ({ app, open }) => {
  const query = 'which language does the parrot speak?'
  const page = await open()
  await page.getByRole('switch', { name: 'Memory retrieval' }).click()
  await page.locator('[role=switch][aria-checked=true]').waitFor()
  await say(page, query)
  await answers(page).getByText('All right.').waitFor()
  const { hits } = await searchFor(app, query, 'memory')
  await openCard(page)
  const first = card(page).getByRole('listitem').first()
  await first.getByText('Details', { exact: true }).click()
  const terms = first.getByRole('list', { name: 'Score per term' }).getByRole('listitem')
  for (const { term, score } of hits[0].how.lexical.terms) {
    await terms.filter({ hasText: term }).getByText(score.toFixed(2)).first().waitFor()
  }
  const share = hits[0].how.lexical.share.toFixed(2)
  await first.getByText(`1.00 × ${share} = ${hits[0].score.toFixed(2)}`).waitFor()
  await first.getByText('not used for this question').waitFor()
  await shot(page, 'card-words')
  await first.locator('a.passage').click()
  await marked(page).first().waitFor()
  const line = MEMORY.split('\n')[hits[0].lines[0] - 1]
  assert.equal(await marked(page).first().textContent(), line)
  await page.getByRole('switch', { name: 'Memory retrieval' }).click()
  await page.locator('[role=switch][aria-checked=false]').waitFor()
})

test('a search tool shows its passages, and its output links to them', async ({ app, open }) => {
  const page = await open()
  await say(page, 'look up the key')
  await answers(page).getByText('It goes into .env.').waitFor()
  await settled(page)
  const found = await passages(page)
  const { hits } = await searchFor(app, QUESTION)
  await until(
    () => found.getByRole('list').first().locator('> li').count(),
    count => count === hits.length,
    'all passages',
  )
  await found.getByText('Details', { exact: true }).first().click()
  await found.getByText('BM25').first().waitFor()
  const linked = answers(page).getByRole('region', { name: 'Output' }).locator('a.passage')
  assert.equal(await linked.first().textContent(), `${hits[0].source}:${hits[0].lines.join('-')}`)
  await found.getByRole('link', { name: 'Open in retrieval playground' }).click()
  await page.getByRole('searchbox', { name: 'Question' }).waitFor()
  assert.equal(await page.getByRole('searchbox', { name: 'Question' }).inputValue(), QUESTION)
})

test('a PDF passage shows as extracted at its page, and a damaged PDF says what is wrong', async ({
  app,
  open,
}) => {
  const pages = ['Penguins cannot fly.', 'Ostriches run faster than horses.', 'Parrots speak.']
  await writeFile(join(app.home, 'knowledge/birds.pdf'), pdfOf(pages))
  await writeFile(join(app.home, 'knowledge/torn.pdf'), Buffer.from([0x25, 0x50, 0xff]))
  await isRead(app, 'ostriches')
  const page = await open()
  await say(page, 'which bird runs')
  await answers(page).getByText('The ostrich.').waitFor()
  await settled(page)
  const found = await passages(page)
  await found.getByRole('listitem').filter({ hasText: 'birds.pdf' }).locator('a.passage').first().click()
  const read = page.locator('#pane-right').getByRole('group', { name: 'File content by passage' })
  await read.locator('[data-found]', { hasText: 'Ostriches run' }).waitFor()
  for (const text of pages) await read.getByText(text).waitFor()
  await page.locator('#pane-right').getByText('can’t be edited here').waitFor()
  await shot(page, 'pdf-passage')
  assert.deepEqual(await faults(page), [])
  await page
    .locator('#pane-right')
    .getByRole('treeitem', { name: /^torn\.pdf/ })
    .click()
  await page.locator('#pane-right').getByText('Can’t open this file').waitFor()
  await page.locator('#pane-right [role=treeitem][title="knowledge/birds.pdf"]').waitFor()
  await page.locator('#pane-right [role=treeitem][title*=Damaged]', { hasText: 'torn.pdf' }).waitFor()
})

/** Starts a conversation, and sends the page frames that no server sent. */
async function withFrames(open, frames) {
  const page = await open({ prepare: page => catchStream(page.context()) })
  await say(page, 'made up')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  const session_id = new URL(page.url()).pathname.split('/').pop()
  const told = [{ type: 'user_message', work_id: 'w', content: QUESTION, message_id: 'm' }, ...frames]
  for (const frame of told) await emit(page, { type: 'frame', session_id, frame })
  return page
}

test('with a model, both shares, their sum and the near misses show', async ({ app, open }) => {
  const { hits, ...search } = await fakeSearch(app, { query: QUESTION, folder: 'knowledge' })
  const page = await withFrames(open, [
    { type: 'retrieval', query: QUESTION, results: hits, search: { ...search, hits: [] } },
  ])
  await openCard(page)
  const first = card(page).getByRole('listitem').first()
  await first.getByText('Details', { exact: true }).click()
  const { lexical, vector } = hits[0].how
  const [a, b, sum] = [vector.share, lexical.share, hits[0].score].map(n => n.toFixed(2))
  await first.getByText(`0.20 × ${a} + 0.80 × ${b} = ${sum}`).waitFor()
  await first.getByText(`cosine similarity ${vector.cosine.toFixed(2)}`).waitFor()
  await card(page).getByText('near misses').click()
  await card(page).getByText('below').first().waitFor()
  await shot(page, 'card-why')
})

test('a passage that its file repeats says how often', async ({ app, open }) => {
  const { hits, ...search } = await fakeSearch(app, { query: QUESTION, folder: 'knowledge' })
  const [first, ...others] = hits
  const results = [{ ...first, how: { ...first.how, duplicates: 2 } }, ...others]
  const page = await withFrames(open, [
    { type: 'retrieval', query: QUESTION, results, search: { ...search, hits: [] } },
  ])
  await openCard(page)
  const details = card(page).getByText('Details', { exact: true })
  for (const nth of [0, 1]) await details.nth(nth).click()
  await card(page).getByText('Repeated at least 2 more times in this file').waitFor()
  await card(page).getByText('Total', { exact: true }).nth(1).waitFor()
  assert.equal(await card(page).getByText('in this file.').count(), 1)
  await shot(page, 'card-duplicates')
})

test('passages without an explanation show without one', async ({ app, open }) => {
  const { hits, ...search } = await fakeSearch(app, { query: QUESTION, folder: 'knowledge' })
  const results = hits.map(({ how, ...hit }) => hit)
  const page = await withFrames(open, [
    { type: 'retrieval', query: QUESTION, results, search: { ...search, hits: [] } },
  ])
  await openCard(page)
  await card(page).locator('a.passage').first().waitFor()
  assert.equal(await card(page).getByText('Details', { exact: true }).count(), 0)
})

test('a search without a hit shows what came near', async ({ app, open }) => {
  const { hits, near_misses, ...search } = await fakeSearch(app, { query: QUESTION, folder: 'knowledge' })
  const missed = hits.map(hit => ({ hit, behind: 0.1, reason: 'both_weaker', detail: 'It is weaker.' }))
  const page = await withFrames(open, [
    { type: 'retrieval', query: QUESTION, results: [], search: { ...search, hits: [], near_misses: missed } },
  ])
  await answers(page).getByText(`No passage retrieved, ${missed.length} near misses`).last().click()
  const link = card(page)
    .getByRole('link', { name: new RegExp(hits[0].source) })
    .first()
  await link.waitFor()
  assert.deepEqual(await faults(page), [])
  await shot(page, 'retrieval-none')
  await link.click()
  await page.locator('#pane-right .cm-content').waitFor()

  const weak = hits.map(hit => ({ ...hit, weak: true }))
  const session_id = new URL(page.url()).pathname.split('/').pop()
  const frames = [
    { type: 'user_message', work_id: 'w2', content: QUESTION, message_id: 'm2' },
    { type: 'retrieval', query: QUESTION, results: weak, search: { ...search, hits: [], near_misses } },
  ]
  for (const frame of frames) await emit(page, { type: 'frame', session_id, frame })
  await answers(page).getByText(`No good match, ${weak.length} weak matches retrieved`).last().click()
  await card(page)
    .locator('summary', { hasText: `${hits[0].source}:` })
    .first()
    .click()
  await card(page)
    .getByRole('link', { name: new RegExp(hits[0].source) })
    .first()
    .waitFor()
  await shot(page, 'retrieval-weak')
})
