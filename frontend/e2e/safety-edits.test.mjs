// The same hostile text where versions are compared: before a save, after a change on disk, in compacted messages, in
// sent requests, in retrieval tests, in an untrusted skill.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withCanary } from './fixtures.mjs'
import { answers, say, settled } from './harness.mjs'

const SUMMARISED = { match: 'Summarise the conversation above', repeat: true }
const repliesOf = hostile => [
  { ...SUMMARISED, steps: [{ text: hostile }, { finish: 'stop' }] },
  { match: 'say it', repeat: true, steps: [{ text: hostile }, { finish: 'stop' }] },
]
function sessionOf(hostile) {
  const messages = Array.from({ length: 8 }, (_, n) => ({
    role: n % 2 ? 'assistant' : 'user',
    content: `${n} ${hostile}`,
    id: `m${n}`,
    work_id: `w${n - (n % 2)}`,
  }))
  return { title: 'Hostile', created_at: 1, updated_at: Date.now() / 1000, messages }
}

const put = (app, path, text) => writeFile(join(app.home, path), text)
const test = withCanary(({ hostile }) => ({
  replies: repliesOf(hostile),
  prepare: async app => {
    await put(app, 'sessions/hostile.json', JSON.stringify(sessionOf(hostile)))
    await put(app, 'workspace/notes.md', `Notes\n\n${hostile}\n`)
    await put(app, 'memory/MEMORY.md', `Memory\n\n${hostile}\n`)
    const test = { query: hostile, file: `${hostile.slice(0, 60)}.md`, heading: hostile }
    const tests = `${JSON.stringify(test)}\n{"query": "penguins", "file": "x.md"}\n`
    await put(app, 'knowledge/tests.jsonl', tests)
  },
}))

const inspector = page => page.getByRole('region', { name: 'Inspector' })
const text = page => inspector(page).locator('.cm-content')

async function typeIn(page, tab, name) {
  await inspector(page).getByRole('tab', { name: tab, exact: true }).click()
  await inspector(page).getByRole('treeitem', { name }).first().click()
  await text(page).click()
  await page.keyboard.press('Control+Home')
  await page.keyboard.type('Mine. ')
}

test('hostile text is harmless in the difference before a save', async ({ canary: { harmless }, open }) => {
  const page = await open()
  await typeIn(page, 'Workspace', /notes\.md/)
  await inspector(page).getByRole('button', { name: 'Show unsaved changes' }).click()
  await inspector(page).locator('.cm-deletedChunk, .cm-changedLine').first().waitFor()
  await harmless(page)
})

test('hostile text is harmless in a comparison after a change on disk', async ({
  app,
  canary: { harmless, hostile },
  open,
}) => {
  const page = await open()
  await typeIn(page, 'Workspace', /notes\.md/)
  await put(app, 'workspace/notes.md', `Theirs\n\n${hostile}\n\n${hostile}\n`)
  await inspector(page).getByText('changed on disk').waitFor()
  await inspector(page).getByRole('button', { name: 'Compare', exact: true }).click()
  await inspector(page).locator('.cm-deletedChunk').first().waitFor()
  await harmless(page)
})

test('hostile text is harmless in a plan, a summary and its originals', async ({
  canary: { harmless },
  open,
}) => {
  const page = await open({ path: '/s/hostile' })
  await answers(page).first().waitFor()
  await page.getByRole('button', { name: 'Compact conversation' }).click()
  const dialog = page.getByRole('dialog', { name: 'Compact conversation' })
  await dialog.getByRole('region', { name: 'Original messages' }).getByRole('listitem').first().waitFor()
  await harmless(page, dialog)
  await dialog.getByRole('button', { name: 'Generate summary' }).click()
  await dialog.getByRole('textbox', { name: 'Summary' }).waitFor()
  await harmless(page, dialog)
  await dialog.getByRole('button', { name: 'Replace with summary' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('region', { name: '4 messages compacted' }).waitFor()
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Trash and recovery' }).click()
  const recovery = page.getByRole('dialog', { name: 'Trash and recovery' })
  await recovery.getByRole('button', { name: 'View' }).click()
  await recovery.getByText('<script>').first().waitFor()
  await harmless(page, recovery)
})

test('hostile text is harmless in a sent request and its difference', async ({
  app,
  canary: { harmless, hostile },
  open,
}) => {
  const page = await open()
  await say(page, 'say it')
  await answers(page).nth(0).getByText('<script>').first().waitFor()
  await settled(page)
  await put(app, 'memory/MEMORY.md', `Other\n\n${hostile}\n\n${hostile}\n`)
  await say(page, `say it again ${hostile}`)
  await answers(page).nth(1).getByText('<script>').first().waitFor()
  await settled(page)
  const answer = answers(page).nth(1)
  await answer.hover()
  await answer.getByRole('button', { name: 'X-ray of this response' }).click()
  const dialog = page.getByRole('dialog', { name: 'X-ray of this response' })
  await dialog.getByRole('heading', { name: 'Changes since the previous request' }).waitFor()
  await harmless(page, dialog)
  // What is rendered only when it is opened is checked again.
  await dialog.getByText('<script>').first().waitFor()
  await harmless(page, dialog)
})

test('hostile text is harmless in retrieval tests and the result of a run', async ({
  canary: { harmless },
  open,
}) => {
  const tab = page => page.getByRole('tab', { name: 'Tests', exact: true })
  const path = '/playground?folder=knowledge&tab=tests'
  const page = await open({ path, ready: tab })
  await page.getByRole('list', { name: 'Tests' }).getByRole('listitem').nth(1).waitFor()
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByRole('region', { name: 'Last run' }).waitFor()
  await harmless(page)
})

test('hostile text is harmless in an untrusted skill and its changes', async ({
  app,
  canary: { harmless, hostile },
  open,
}) => {
  const head = '---\nname: web-digest\ndescription: '
  await put(app, 'skills/web_digest/SKILL.md', `${head}${JSON.stringify(hostile)}\n---\n${hostile}\n`)
  const page = await open()
  await inspector(page).getByRole('tab', { name: 'Skills' }).click()
  await inspector(page).getByText('Not trusted').waitFor()
  await inspector(page)
    .getByRole('button', { name: /web-digest/ })
    .first()
    .click()
  await inspector(page).getByRole('button', { name: 'Review', exact: true }).click()
  await inspector(page).locator('.cm-deletedChunk').first().waitFor()
  await harmless(page)
  assert.equal(await page.evaluate(() => document.title), 'miniclaw')
})
