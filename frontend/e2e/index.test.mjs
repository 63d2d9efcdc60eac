// How far the index is, beside the files it is made of.
// REAL SERVER: the line, the files that cannot be read and the model can be asked of the real server once it has
// /api/retrieval/status; the progress stays here, because a real one is over too soon to look at.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { catchStream, emit, fakeRetrieval } from './fake-retrieval.mjs'
import { openPage, shot, startBrowser, startMiniclaw } from './harness.mjs'

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

async function openKnowledge(world) {
  const prepare = async page => {
    await catchStream(page.context())
    await fakeRetrieval(page, app, world)
  }
  const opened = await openPage(browser, app, { prepare })
  await inspector(opened.page).getByRole('tab', { name: 'Knowledge' }).click()
  return opened
}

test('the list says how many files, passages and vectors there are, and leads to the playground', async () => {
  const { page, close } = await openKnowledge({})
  await inspector(page)
    .getByText(/^9 files · \d+ passages · (\d+) of \1 vectors · mini-256$/)
    .waitFor()
  const link = inspector(page).getByRole('link', { name: 'Try out what is found in Knowledge' })
  assert.equal(await link.getAttribute('href'), '/playground?folder=knowledge')
  await inspector(page).getByRole('tab', { name: 'Skills' }).click()
  assert.equal(await inspector(page).getByText('passages').count(), 0)
  await close()
})

test('progress moves with the notices of the server, and goes when it is done', async () => {
  const { page, close } = await openKnowledge({})
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

test('files that cannot be read are listed with their reason', async () => {
  const unreadable = [
    { path: 'knowledge/scan.pdf', reason: 'not UTF-8 text' },
    { path: 'knowledge/old.doc', reason: 'not UTF-8 text' },
  ]
  const { page, close } = await openKnowledge({ unreadable })
  await inspector(page).getByText('2 files cannot be read').click()
  await inspector(page).getByText('knowledge/scan.pdf').waitFor()
  await inspector(page).getByText('not UTF-8 text').first().waitFor()
  await shot(page, 'index-unreadable')
  await close()
})

test('without a model the line says that words are all there is', async () => {
  const { page, close } = await openKnowledge({ model: false })
  await inspector(page)
    .getByText(/passages · words only$/)
    .waitFor()
  await close()
})
