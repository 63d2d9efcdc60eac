// The state of the index, beside the files it is made from.
import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { catchStream, emit, fakeRetrieval } from './fake-retrieval.mjs'
import { withMiniclaw } from './fixtures.mjs'
import { isRead, searchFor, shot } from './harness.mjs'
import { docxOf, loopingPdf } from './pdf.mjs'

const test = withMiniclaw()

const inspector = page => page.getByRole('region', { name: 'Inspector' })

async function openKnowledge(open, prepare) {
  const page = await open({ prepare })
  await inspector(page).getByRole('tab', { name: 'Knowledge' }).click()
  return page
}

test('the list shows the size of the index and links to the playground', async ({ app, open }) => {
  const page = await openKnowledge(open)
  await inspector(page).getByText('not indexed yet').waitFor()
  await searchFor(app, 'keys')
  await inspector(page)
    .getByText(/^9 files · \d+ passages · keyword only$/)
    .waitFor()
  await inspector(page).getByText('Keyword search only', { exact: true }).click()
  await inspector(page).getByText('make embedder', { exact: true }).waitFor()
  const link = inspector(page).getByRole('link', { name: 'Try retrieval in Knowledge' })
  assert.equal(await link.getAttribute('href'), '/playground?folder=knowledge')
  await inspector(page).getByRole('tab', { name: 'Skills' }).click()
  assert.equal(await inspector(page).getByText('passages').count(), 0)
})

test('files that cannot be read are listed with their reason', async ({ app, open }) => {
  await writeFile(join(app.home, 'knowledge/scan.txt'), Buffer.from([0xff, 0xfe, 0x00]))
  await searchFor(app, 'keys')
  const page = await openKnowledge(open)
  await inspector(page).getByText('1 file couldn’t be read').click()
  await inspector(page).getByText('knowledge/scan.txt').waitFor()
  await inspector(page).getByText(/UTF-8/).first().waitFor()
  await shot(page, 'index-unreadable')
})

test('an unreadable document says why, in Chinese too, and a Word document is found', async ({
  app,
  open,
}) => {
  const knowledge = name => join(app.home, 'knowledge', name)
  const word = docxOf('Reeds', 'Bitterns boom in the reeds.')
  await writeFile(knowledge('reeds.docx'), word)
  await writeFile(knowledge('loop.pdf'), loopingPdf())
  await writeFile(knowledge('broken.docx'), word.subarray(0, 200))
  const found = await isRead(app, 'bitterns')
  assert.equal(found.hits[0].source, 'knowledge/reeds.docx')
  const page = await openKnowledge(open)
  await inspector(page).getByText('3 files couldn’t be read').click()
  await inspector(page).getByText('knowledge/loop.pdf — Nested too deeply to read.').waitFor()
  await inspector(page).getByText('knowledge/broken.docx — Damaged').waitFor()
  await shot(page, 'index-documents')
  const chinese = await open({ lang: 'zh' })
  await chinese.getByRole('tab', { name: '知识库' }).click()
  await chinese.getByText('3 个文件无法读取').click()
  await chinese.getByText('knowledge/loop.pdf — 嵌套层级过深，无法读取。').waitFor()
  await shot(chinese, 'index-documents-zh')
  await chinese.close()
  for (const name of ['reeds.docx', 'loop.pdf', 'broken.docx']) await rm(knowledge(name))
  await searchFor(app, 'keys')
})

// Faked: to write so many files would take a test too long.
test('files beyond the limit of the index are reported', async ({ app, open }) => {
  const page = await openKnowledge(open, page => fakeRetrieval(page, app, { leftOut: 1234 }))
  await inspector(page).getByText('1,234 more files not indexed (limit: 20,000)').waitFor()
  await shot(page, 'index-left-out')
})

// Faked: a real index of so few files is built before a test could look.
test('progress follows the notices of the server and disappears when it is done', async ({ app, open }) => {
  await searchFor(app, 'keys')
  const page = await openKnowledge(open, page => catchStream(page.context()))
  await inspector(page).getByText('passages').waitFor()
  const tell = (state, done) => emit(page, { type: 'index', folder: 'knowledge', state, done, total: 340 })
  await tell('building', 17)
  await inspector(page).getByRole('progressbar', { name: 'Building index: 5 %' }).waitFor()
  await tell('embedding', 119)
  await inspector(page).getByRole('progressbar', { name: 'Generating vectors: 35 %' }).waitFor()
  await shot(page, 'index-progress')
  await tell('ready', 340)
  await inspector(page).getByRole('progressbar').waitFor({ state: 'detached' })
})

// Faked: the tested server has no embedding model.
test('with a model the line counts the vectors', async ({ app, open }) => {
  const page = await openKnowledge(open, page => fakeRetrieval(page, app))
  await inspector(page)
    .getByText(/^9 files · (\d+) passages · \1 of \1 vectors · mini-256$/)
    .waitFor()
})

// Faked: a broken model would require a damaged download.
test('a broken model shows its reason until it works again', async ({ app, open }) => {
  const world = { model: { state: 'failed', detail: 'The weights are damaged.' } }
  const page = await openKnowledge(open, async page => {
    await catchStream(page.context())
    await fakeRetrieval(page, app, world)
  })
  await inspector(page).getByText('The weights are damaged.').waitFor()
  await shot(page, 'index-model-failed')
  world.model = undefined
  await emit(page, { type: 'index', folder: 'knowledge', state: 'embedding', done: 1, total: 2 })
  await emit(page, { type: 'index', folder: 'knowledge', state: 'ready', done: 2, total: 2 })
  await inspector(page).getByText('The weights are damaged.').waitFor({ state: 'detached' })
})
