// How far the index is, beside the files it is made of.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { catchStream, emit, fakeRetrieval } from './fake-retrieval.mjs'
import { openPage, searchFor, shot, startBrowser, startMiniclaw } from './harness.mjs'

let app
let browser
before(async () => {
  app = await startMiniclaw()
  browser = await startBrowser()
})
after(async () => {
  await browser?.close()
  await app?.stop()
})

const inspector = page => page.getByRole('region', { name: 'Inspector' })

async function openKnowledge(prepare) {
  const opened = await openPage(browser, app, { prepare })
  await inspector(opened.page).getByRole('tab', { name: 'Knowledge' }).click()
  return opened
}

test('the list says how big the index is, and leads to the playground', async () => {
  const { page, close } = await openKnowledge()
  await inspector(page).getByText('not indexed yet').waitFor()
  await searchFor(app, 'keys')
  await inspector(page)
    .getByText(/^9 files · \d+ passages · words only$/)
    .waitFor()
  await inspector(page).getByText('Search is by words only', { exact: true }).click()
  await inspector(page).getByText('make embedder', { exact: true }).waitFor()
  const link = inspector(page).getByRole('link', { name: 'Try out what is found in Knowledge' })
  assert.equal(await link.getAttribute('href'), '/playground?folder=knowledge')
  await inspector(page).getByRole('tab', { name: 'Skills' }).click()
  assert.equal(await inspector(page).getByText('passages').count(), 0)
  await close()
})

test('files that cannot be read are listed with their reason', async () => {
  await writeFile(join(app.home, 'knowledge/scan.txt'), Buffer.from([0xff, 0xfe, 0x00]))
  await searchFor(app, 'keys')
  const { page, close } = await openKnowledge()
  await inspector(page).getByText('1 file cannot be read').click()
  await inspector(page).getByText('knowledge/scan.txt').waitFor()
  await inspector(page).getByText(/UTF-8/).first().waitFor()
  await shot(page, 'index-unreadable')
  await close()
})

// Made up: a real index of so few files is built before one could look.
test('progress moves with the notices of the server, and goes when it is done', async () => {
  const { page, close } = await openKnowledge(page => catchStream(page.context()))
  await inspector(page).getByText('passages').waitFor()
  const tell = (state, done) => emit(page, { type: 'index', folder: 'knowledge', state, done, total: 340 })
  await tell('building', 17)
  await inspector(page).getByRole('progressbar', { name: 'The index is being built: 5 %' }).waitFor()
  await tell('embedding', 119)
  await inspector(page).getByRole('progressbar', { name: 'Vectors are being made: 35 %' }).waitFor()
  await shot(page, 'index-progress')
  await tell('ready', 340)
  await inspector(page).getByRole('progressbar').waitFor({ state: 'detached' })
  await close()
})

// Made up: the tested server has no embedding model.
test('with a model the line counts the vectors', async () => {
  const { page, close } = await openKnowledge(page => fakeRetrieval(page, app))
  await inspector(page)
    .getByText(/^9 files · (\d+) passages · \1 of \1 vectors · mini-256$/)
    .waitFor()
  await close()
})

// Made up: a model that is there and broken takes a damaged download.
test('a model that does not work is said with its reason, and goes when it works again', async () => {
  const world = { model: { state: 'failed', detail: 'The weights are damaged.' } }
  const { page, close } = await openKnowledge(async page => {
    await catchStream(page.context())
    await fakeRetrieval(page, app, world)
  })
  await inspector(page).getByText('The weights are damaged.').waitFor()
  await shot(page, 'index-model-failed')
  world.model = undefined
  await emit(page, { type: 'index', folder: 'knowledge', state: 'embedding', done: 1, total: 2 })
  await emit(page, { type: 'index', folder: 'knowledge', state: 'ready', done: 2, total: 2 })
  await inspector(page).getByText('The weights are damaged.').waitFor({ state: 'detached' })
  await close()
})
