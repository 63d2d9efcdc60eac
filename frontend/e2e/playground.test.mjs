// The playground: what is found, why, and the effect of another weight.
import assert from 'node:assert/strict'
import { catchStream, emit, fakeRetrieval } from './fake-retrieval.mjs'
import { withMiniclaw } from './fixtures.mjs'
import { answers, ask, MOBILE, say, searchFor, settled, shot, until } from './harness.mjs'

const QUESTION = 'where do I put my API key'
const ADDRESS = `/playground?query=${encodeURIComponent(QUESTION)}&folder=knowledge`

const test = withMiniclaw()

const question = page => page.getByRole('searchbox', { name: 'Question' })
const rows = page => page.locator('[data-row]')
const order = page => rows(page).evaluateAll(all => all.map(row => row.dataset.row))
const weight = page => page.getByRole('slider', { name: 'Semantic weight' })
const side = page => page.locator('#pane-right')

const playground = (open, options = {}) => open({ path: ADDRESS, ready: question, ...options })

/** The tested server has no embedding model; a fake shows how the two retrievers interact. */
async function withMeaning({ app, open }, options = {}) {
  const world = {}
  const page = await playground(open, { prepare: page => fakeRetrieval(page, app, world), ...options })
  return { page, world }
}

test('a URL describes a trial: its question runs, and the best passage shows in its file', async ({
  app,
  open,
}) => {
  const page = await playground(open)
  await rows(page).first().waitFor()
  assert.equal(await question(page).inputValue(), QUESTION)
  const { hits } = await searchFor(app, QUESTION)
  const first = rows(page).first()
  await first.getByText(`${hits[0].source}:${hits[0].lines.join('–')}`).waitFor()
  await first.getByText(`= ${hits[0].score.toFixed(2)}`).waitFor()
  await side(page).getByText('match', { exact: true }).waitFor()
  await side(page).getByRole('heading', { name: hits[0].source }).waitFor()
  const coloured = await side(page).locator('.bg-rag-soft.whitespace-pre-wrap').allTextContents()
  const words = text => text.replace(/\s+/g, '')
  assert.equal(words(coloured.join('')), words(hits[0].text))
  await shot(page, 'playground')
})

test('the question shows as it was searched, with the words left out', async ({ open }) => {
  const page = await playground(open, { path: '/playground' })
  await page.getByText('Enter a question to see').waitFor()
  assert.ok(await question(page).evaluate(input => input === document.activeElement))
  await page.keyboard.type('where is the zyzzyva key')
  const terms = page.getByRole('list', { name: 'Search terms' })
  await terms.getByRole('listitem').filter({ hasText: 'zyzzyva' }).getByText('not in any passage').waitFor()
  await terms
    .getByRole('listitem')
    .filter({ hasText: 'key' })
    .getByText(/^idf \d\.\d\d$/)
    .waitFor()
  await terms.getByText('where, is, the').waitFor()
  await page.getByText(/\d ms: files .* keyword .* query embedding .* semantic .* ranking/).waitFor()
  await page.waitForURL(/query=where\+is\+the\+zyzzyva\+key/)
})

test('a half-composed word is not searched', async ({ open }) => {
  const page = await playground(open, { path: '/playground?folder=knowledge' })
  const asked = []
  page.on('request', request => request.url().includes('/search?') && asked.push(request.url()))
  const devtools = await page.context().newCDPSession(page)
  await question(page).focus()
  await devtools.send('Input.imeSetComposition', { text: 'miyao', selectionStart: 5, selectionEnd: 5 })
  await page.waitForTimeout(600)
  assert.deepEqual(asked, [])
  await devtools.send('Input.insertText', { text: '密钥' })
  await rows(page).first().waitFor()
  assert.equal(new URL(asked[0]).searchParams.get('query'), '密钥')
})

test('another weight ranks again without a request, and resets to the server’s', async ({ app, open }) => {
  const { page, world } = await withMeaning({ app, open })
  await rows(page).first().waitFor()
  const own = await order(page)
  const asked = world.asked
  await weight(page).focus()
  await page.keyboard.press('End')
  await until(
    () => order(page),
    now => now.join() !== own.join(),
    'another order',
  )
  assert.equal(world.asked, asked)
  const meanings = await rows(page)
    .locator('> button > span:nth-child(2) > span:nth-child(3)')
    .allTextContents()
  const places = meanings.map(text => Number(/#(\d+)/.exec(text)[1]))
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  )
  await page
    .getByText(/(up|down) by \d/)
    .first()
    .waitFor({ state: 'attached' })
  await page.waitForURL(/weight=1/)
  await shot(page, 'playground-meaning')
  await page.getByRole('button', { name: 'Reset' }).click()
  assert.deepEqual(await order(page), own)
})

test('rows glide to their new position, or jump with reduced motion', async ({ app, open }) => {
  for (const [reducedMotion, glides] of [
    ['no-preference', true],
    ['reduce', false],
  ]) {
    const { page } = await withMeaning({ app, open }, { reducedMotion })
    await rows(page).first().waitFor()
    await page.evaluate(() => {
      window.glides = 0
      const { animate } = Element.prototype
      Element.prototype.animate = function (...args) {
        window.glides++
        return animate.apply(this, args)
      }
    })
    const own = await order(page)
    await weight(page).focus()
    await page.keyboard.press('End')
    await until(
      () => order(page),
      now => now.join() !== own.join(),
      'another order',
    )
    assert.equal((await page.evaluate(() => window.glides)) > 0, glides, reducedMotion)
  }
})

test('more passages can be handed on, and the rest are near misses with a reason', async ({ open }) => {
  const page = await playground(open)
  await rows(page).first().waitFor()
  const handed = () => page.locator('ol > li').evaluateAll(all => all.findIndex(li => !li.dataset.row))
  assert.equal(await handed(), 3)
  await page.getByRole('slider', { name: 'Number of passages sent to the model' }).focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  await until(handed, at => at === 5, 'five passages')
  await rows(page)
    .nth(6)
    .getByText(/lower keyword score: 0\.\d\d · 0\.\d\d below/)
    .waitFor()
  await page.waitForURL(/k=5/)
})

test('arrow keys move through the results, and the file follows', async ({ app, open }) => {
  const page = await playground(open)
  await rows(page).first().waitFor()
  await question(page).focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  const second = rows(page).nth(1)
  assert.equal(await second.getByRole('button').first().getAttribute('aria-expanded'), 'true')
  const { hits } = await searchFor(app, QUESTION)
  await side(page).getByRole('heading', { name: hits[1].source }).waitFor()
})

test('a chunk shows its origin', async ({ app, open }) => {
  const page = await playground(open)
  await rows(page).first().waitFor()
  const { hits } = await searchFor(app, QUESTION)
  const { chunks } = await ask(app, `/api/retrieval/chunks?path=${hits[0].source}`)
  const last = chunks.at(-1)
  const chunk = side(page).locator('[data-chunk]').last()
  await chunk.getByRole('button').click()
  const facts = chunk.locator('dl')
  await facts.getByText(last.id, { exact: true }).waitFor()
  await facts.getByText(last.lines.join('–'), { exact: true }).waitFor()
  const [from, to] = last.range
  await facts
    .getByText(`${from.toLocaleString('en')}–${to.toLocaleString('en')} (${to - from})`, { exact: true })
    .waitFor()
  await facts.getByText('no vector yet').waitFor()
})

test('the editor opens beside the results, and the passage comes back', async ({ open }) => {
  const page = await playground(open)
  await rows(page).first().getByRole('button', { name: 'Open in editor' }).click()
  await side(page).locator('.cm-passage').first().waitFor()
  await side(page).getByRole('button', { name: 'Back to passage' }).click()
  await side(page).getByText('match', { exact: true }).waitFor()
})

test('the palette opens the playground, and the shortcut of the composer leads back', async ({ open }) => {
  const page = await open()
  await say(page, 'hello there')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  const chat = new URL(page.url()).pathname
  await page.keyboard.press('Control+k')
  await page.getByRole('option').first().waitFor()
  await page.keyboard.type('playground')
  await page.keyboard.press('Enter')
  await question(page).waitFor()
  assert.equal(await page.title(), 'Retrieval playground · miniclaw')
  await page.locator('#play-title').click()
  await page.keyboard.press('/')
  await answers(page).getByText('All right.').waitFor()
  assert.equal(new URL(page.url()).pathname, chat)
})

test('without a model the page explains how to get one and disables the weight', async ({ open }) => {
  const page = await playground(open)
  await rows(page).first().waitFor()
  await page.locator('#pane-play').getByText('make embedder').waitFor()
  await page.getByText('keyword only: no embedding model').waitFor()
  assert.ok(await weight(page).isDisabled())
  await shot(page, 'playground-no-model')
})

test('an index that is being built shows its progress', async ({ open }) => {
  const page = await playground(open, { prepare: page => catchStream(page.context()) })
  await rows(page).first().waitFor()
  await emit(page, { type: 'index', folder: 'knowledge', state: 'building', done: 34, total: 100 })
  await page.locator('#pane-play').getByText('Building index: 34 %').waitFor()
  await shot(page, 'playground-building')
})

test('a failed search says why and can be retried', async ({ open }) => {
  const fault = { code: 'unsearchable', message: 'the index is damaged' }
  const prepare = page =>
    page.route('**/api/retrieval/search?*', route => route.fulfill({ status: 500, json: fault }))
  const page = await playground(open, { prepare })
  await page.getByRole('alert').getByText('the index is damaged').waitFor()
  await shot(page, 'playground-failed')
  await page.unroute('**/api/retrieval/search?*')
  await page.getByRole('button', { name: 'Retry' }).click()
  await rows(page).first().waitFor()
})

test('a search without matches says so', async ({ open }) => {
  const page = await playground(open, { path: '/playground?query=zyzzyva&folder=knowledge' })
  await page.locator('#pane-play').getByText('No matching passages.').waitFor()
})

test('on a phone the file is one step away', async ({ open }) => {
  const page = await playground(open, MOBILE)
  await rows(page).first().waitFor()
  await shot(page, 'playground-phone')
  await rows(page).first().getByRole('button', { name: 'Show in file' }).click()
  await side(page).getByText('match', { exact: true }).waitFor()
  await shot(page, 'playground-phone-file')
  await page.locator('nav').last().getByRole('button', { name: 'Playground' }).click()
  await rows(page).first().waitFor()
})
