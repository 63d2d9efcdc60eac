// The same hostile text where versions stand beside each other: before a save, after a change on disk, in what was compressed,
// in what was sent, in retrieval tests, in a skill that nobody has trusted.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startCanary } from './canary.mjs'
import { answers, openPage, say, settled, startBrowser, startMiniclaw } from './harness.mjs'

const canary = await startCanary()
const { hostile: HOSTILE, harmless } = canary
const SUMMARISED = { match: 'Summarise the conversation above', repeat: true }
const REPLIES = [
  { ...SUMMARISED, steps: [{ text: HOSTILE }, { finish: 'stop' }] },
  { match: 'say it', repeat: true, steps: [{ text: HOSTILE }, { finish: 'stop' }] },
]
const SAID = Array.from({ length: 8 }, (_, n) => ({
  role: n % 2 ? 'assistant' : 'user',
  content: `${n} ${HOSTILE}`,
  id: `m${n}`,
  work_id: `w${n - (n % 2)}`,
}))
const SESSION = { title: 'Hostile', created_at: 1, updated_at: Date.now() / 1000, messages: SAID }

let app
let browser
before(async () => {
  app = await startMiniclaw(REPLIES)
  await put('sessions/hostile.json', JSON.stringify(SESSION))
  await put('workspace/notes.md', `Notes\n\n${HOSTILE}\n`)
  await put('memory/MEMORY.md', `Memory\n\n${HOSTILE}\n`)
  const test = { query: HOSTILE, file: `${HOSTILE.slice(0, 60)}.md`, heading: HOSTILE }
  await put('knowledge/tests.jsonl', `${JSON.stringify(test)}\n{"query": "penguins", "file": "x.md"}\n`)
  browser = await startBrowser()
})
after(async () => {
  await browser?.close()
  await app?.stop()
  canary.close()
})

const put = (path, text) => writeFile(join(app.home, path), text)
const inspector = page => page.getByRole('region', { name: 'Inspector' })
const text = page => inspector(page).locator('.cm-content')

async function typeIn(page, tab, name) {
  await inspector(page).getByRole('tab', { name: tab }).click()
  await inspector(page).getByRole('treeitem', { name }).first().click()
  await text(page).click()
  await page.keyboard.press('Control+Home')
  await page.keyboard.type('Mine. ')
}

test('the difference before a save', async () => {
  const { page, close } = await openPage(browser, app)
  await typeIn(page, 'Workspace', /notes\.md/)
  await inspector(page).getByRole('button', { name: 'Show what would change' }).click()
  await inspector(page).locator('.cm-deletedChunk, .cm-changedLine').first().waitFor()
  await harmless(page)
  await close()
})

test('a file that changed on disk under typed text, compared', async () => {
  const { page, close } = await openPage(browser, app)
  await typeIn(page, 'Workspace', /notes\.md/)
  await put('workspace/notes.md', `Theirs\n\n${HOSTILE}\n\n${HOSTILE}\n`)
  await inspector(page).getByText('changed on disk').waitFor()
  await inspector(page).getByRole('button', { name: 'Compare', exact: true }).click()
  await inspector(page).locator('.cm-deletedChunk').first().waitFor()
  await harmless(page)
  await close()
})

test('what would be compressed, the summary, and the originals in the archive', async () => {
  const { page, close } = await openPage(browser, app, { path: '/s/hostile' })
  await answers(page).first().waitFor()
  await page.getByRole('button', { name: 'Compress the conversation' }).click()
  const dialog = page.getByRole('dialog', { name: 'Compress this conversation' })
  await dialog.getByRole('region', { name: 'Originals' }).getByRole('listitem').first().waitFor()
  await harmless(page, dialog)
  await dialog.getByRole('button', { name: 'Have a summary written' }).click()
  await dialog.getByRole('textbox', { name: 'Summary' }).waitFor()
  await harmless(page, dialog)
  await dialog.getByRole('button', { name: 'Accept the summary' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('region', { name: '4 messages archived' }).waitFor()
  await page.getByRole('button', { name: 'More about conversations' }).click()
  await page.getByRole('menuitem', { name: 'Archive' }).click()
  const archive = page.getByRole('dialog', { name: 'Archive' })
  await archive.getByRole('button', { name: 'Read' }).click()
  await archive.getByText('<script>').first().waitFor()
  await harmless(page, archive)
  await close()
})

test('what was sent, and its difference to the request before', async () => {
  const { page, close } = await openPage(browser, app)
  await say(page, 'say it')
  await answers(page).nth(0).getByText('<script>').first().waitFor()
  await settled(page)
  await put('memory/MEMORY.md', `Other\n\n${HOSTILE}\n\n${HOSTILE}\n`)
  await say(page, `say it again ${HOSTILE}`)
  await answers(page).nth(1).getByText('<script>').first().waitFor()
  await settled(page)
  const answer = answers(page).nth(1)
  await answer.hover()
  await answer.getByRole('button', { name: 'X-ray of this answer' }).click()
  const dialog = page.getByRole('dialog', { name: 'X-ray of this answer' })
  await dialog.getByRole('heading', { name: 'Difference to the request before' }).waitFor()
  await harmless(page, dialog)
  // What is put together when it is opened is looked at once more.
  await dialog.getByText('<script>').first().waitFor()
  await harmless(page, dialog)
  await close()
})

test('retrieval tests, and what a run says of them', async () => {
  const tab = page => page.getByRole('tab', { name: 'Tests' })
  const path = '/playground?folder=knowledge&tab=tests'
  const { page, close } = await openPage(browser, app, { path, ready: tab })
  await page.getByRole('list', { name: 'Tests' }).getByRole('listitem').nth(1).waitFor()
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByRole('region', { name: 'Last run' }).waitFor()
  await harmless(page)
  await close()
})

test('a skill that nobody has trusted, and what changed in it', async () => {
  const head = '---\nname: web-digest\ndescription: '
  await put('skills/web_digest/SKILL.md', `${head}${JSON.stringify(HOSTILE)}\n---\n${HOSTILE}\n`)
  const { page, close } = await openPage(browser, app)
  await inspector(page).getByRole('tab', { name: 'Skills' }).click()
  await inspector(page).getByText('Not trusted').waitFor()
  await inspector(page)
    .getByRole('button', { name: /web-digest/ })
    .first()
    .click()
  await inspector(page).getByRole('button', { name: 'Review' }).click()
  await inspector(page).locator('.cm-deletedChunk').first().waitFor()
  await harmless(page)
  assert.equal(await page.evaluate(() => document.title), 'miniclaw')
  await close()
})
