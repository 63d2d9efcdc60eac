// Retrieval tests: cases in a file of the home, a run, and what changed since the previous run.
import assert from 'node:assert/strict'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withMiniclaw } from './fixtures.mjs'
import { ask, shot } from './harness.mjs'

const test = withMiniclaw()
const file = app => join(app.home, 'knowledge/tests.jsonl')
test.beforeEach(({ app }) => rm(file(app), { force: true }))

const CASES = [
  { query: 'where do I put my API key', file: 'setup-and-keys.md', heading: 'Keys' },
  { query: 'how do I write a skill', file: 'skills.md' },
  { query: 'what happens to old sessions', file: 'sessions.md' },
]
const lines = cases => cases.map(one => `${JSON.stringify(one)}\n`).join('')
const tab = page => page.getByRole('tab', { name: 'Tests', exact: true })
const cases = page => page.getByRole('list', { name: 'Tests' }).getByRole('listitem')

const openTests = open => open({ path: '/playground?folder=knowledge&tab=tests', ready: tab })

test('without cases the page explains how to add them', async ({ open }) => {
  const page = await openTests(open)
  await page.getByText('A test is a question and the passage that answers it.').waitFor()
  assert.ok(await page.getByRole('button', { name: 'Run' }).isDisabled())
})

test('a passage becomes a test once, and the file is created if missing', async ({ app, open }) => {
  const page = await openTests(open)
  await page.getByRole('tab', { name: 'Search' }).click()
  await page.getByRole('searchbox', { name: 'Question' }).fill('where do I put my API key')
  const setup = page.locator('[data-row*="setup-and-keys.md"]').first()
  await setup.getByRole('button').first().click()
  await setup.getByRole('button', { name: 'Add as test' }).click()
  await page.getByText('Added to knowledge/tests.jsonl (line 1)').first().waitFor()
  const [added] = (await readFile(file(app), 'utf8')).trim().split('\n')
  assert.deepEqual(JSON.parse(added), CASES[0])
  await setup.getByRole('button', { name: 'Add as test' }).click()
  await page.getByText('Already in knowledge/tests.jsonl (line 1)').first().waitFor()
  assert.equal(await readFile(file(app), 'utf8'), `${added}\n`)
  await page.getByRole('button', { name: 'Show', exact: true }).first().click()
  await page.locator('#pane-right .cm-passage').waitFor()
  await tab(page).click()
  await cases(page).getByText('setup-and-keys.md › Keys').waitFor()
})

test('a run measures retrieval, and the next one lists what got worse and better', async ({ app, open }) => {
  await writeFile(file(app), lines(CASES))
  const skills = join(app.home, 'knowledge/skills.md')
  const text = await readFile(skills, 'utf8')
  const page = await openTests(open)
  await cases(page).nth(2).waitFor()
  await page.getByRole('button', { name: 'Run' }).click()
  const last = page.getByRole('region', { name: 'Last run' })
  await last.getByText('Recall@3').waitFor()
  const { last: report } = await ask(app, '/api/retrieval/tests?folder=knowledge')
  await last.getByText(report.recall_at_k.toFixed(2), { exact: true }).first().waitFor()
  await last.getByText(report.mrr.toFixed(2), { exact: true }).first().waitFor()
  await last.getByText('keyword only').waitFor()

  const rank = report.results[1].rank
  await writeFile(skills, '# Nothing\n\nNo word of it is here.\n')
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByRole('region', { name: 'Regressed: 1' }).getByText(`rank ${rank} → not found`).waitFor()
  await shot(page, 'tests-worse')
  await writeFile(skills, text)
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByRole('region', { name: 'Improved: 1' }).getByText(`not found → rank ${rank}`).waitFor()
  await shot(page, 'tests')
})

test('a case links to its question', async ({ app, open }) => {
  await writeFile(file(app), lines(CASES))
  const page = await openTests(open)
  await cases(page).getByRole('link').nth(1).click()
  await page.locator('[data-row]').first().waitFor()
  assert.equal(await page.getByRole('searchbox', { name: 'Question' }).inputValue(), CASES[1].query)
  await page.goBack()
  await cases(page).first().waitFor()
})

test('an invalid line is reported and links to its place in the file', async ({ app, open }) => {
  await writeFile(file(app), `${lines(CASES)}{"file": "skills.md"}\nnot json\n`)
  const page = await openTests(open)
  const problems = page.getByRole('region', { name: 'Invalid lines' })
  await problems.getByText('missing field `query`').waitFor()
  await problems.getByRole('link', { name: 'line 5' }).click()
  const marked = page.locator('#pane-right .cm-passage')
  await marked.waitFor()
  assert.equal(await marked.textContent(), 'not json')
})

test('a case added on disk appears by itself', async ({ app, open }) => {
  await writeFile(file(app), lines(CASES.slice(0, 1)))
  const page = await openTests(open)
  await cases(page).first().waitFor()
  await writeFile(file(app), lines(CASES))
  await cases(page).nth(2).waitFor()
})
