// Conversations whose tools work in a project's folder: where they work, the to-do list, a running command, several items.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, ask, composer, MOBILE, say, settled, shot, until } from './harness.mjs'

const call = (id, name, args) => [{ tool_call: { id, name, arguments: args } }, { finish: 'tool_calls' }]
const text = words => [{ text: words }, { finish: 'stop' }]
const WAIT = 'seq 1 40; until grep -q go gate; do sleep 0.05; done; echo ended'
const LIST = { titles: ['Read the notes', 'Write the summary', 'Check the links'], name: 'Report' }
const CREATED = [
  { path: 'report/a.txt', content: 'one\n' },
  { path: 'there.txt', content: 'new\n' },
]
const task = (match, command) => [
  { match, steps: call(`${match}1`, 'create_todolist', LIST) },
  { match, steps: call(`${match}2`, 'done_todo', { item_ids: ['TD_001'] }) },
  {
    match,
    steps: call(`${match}3`, 'bash', { commands: [{ instruction: command }, { instruction: 'exit 3' }] }),
  },
  { match, steps: call(`${match}4`, 'done_todo', { item_ids: ['TD_002', 'TD_003'] }) },
  { match, steps: text('The report is ready.') },
]
const REPLIES = [
  ...task('write the report', WAIT),
  ...task('quick report', 'echo hi'),
  { match: 'several files', steps: call('f1', 'create_file', { items: CREATED }) },
  { match: 'several files', steps: call('f2', 'search_files', { pattern: 'one' }) },
  { match: 'several files', steps: text('Some of them.') },
  ...LOOKS.flatMap(({ look }) => task(`look ${look}`, 'echo hi')),
]
const test = withMiniclaw({
  replies: REPLIES,
  prepare: async app => {
    await writeFile(join(app.home, 'scratch/there.txt'), 'kept\n')
    // A command whose changes are kept apart may not see new files of others, but what is written into known ones.
    await writeFile(join(app.home, 'scratch/gate'), '')
  },
})

const place = page => page.getByRole('button', { name: /^(Works in: |工作位置：)/ })
const todo = page => page.getByRole('region', { name: /^(To-do list|任务清单)$/ })
const live = page => page.getByRole('log', { name: 'Output so far' })
const sessionOf = page => new URL(page.url()).pathname.split('/')[2]

async function choose(page, name) {
  await place(page).click()
  await page.getByRole('option', { name }).click()
}

test('a new chat is bound, with its list and a running command, also after a reload', async ({
  open,
  app,
}) => {
  const page = await open()
  await choose(page, /^scratch/)
  await page.getByRole('button', { name: 'Works in: scratch/' }).waitFor()
  await say(page, 'write the report')
  await page.waitForURL(/\/s\//)
  await todo(page).getByText('1 of 3 · next: Write the summary').waitFor()
  await live(page).getByText('40').waitFor()
  assert.equal(await place(page).isDisabled(), true)
  assert.match(await place(page).getAttribute('title'), /Wait until the current run ends/)
  // Typing is not held up by the output, which stays at its end.
  await composer(page).fill('meanwhile')
  const gap = () => live(page).evaluate(box => box.scrollHeight - box.scrollTop - box.clientHeight)
  await until(gap, pixels => pixels < 24, 'the end of the output')
  assert.deepEqual(await faults(page), [])
  await shot(page, 'project-running')

  await page.reload()
  await live(page).getByText('40').waitFor()
  await todo(page).getByText('1 of 3 · next: Write the summary').waitFor()
  await page.getByRole('button', { name: 'Works in: scratch/' }).waitFor()

  // A person who has scrolled up stays there while the output goes on.
  await live(page).evaluate(box => box.scrollTo(0, 0))
  await writeFile(join(app.home, 'scratch/gate'), 'go')
  await answers(page).getByText('The report is ready.').waitFor()
  await live(page).waitFor({ state: 'detached' })
  await todo(page).getByText('All 3 tasks completed').waitFor()
  await todo(page).locator('summary').click()
  await todo(page).getByRole('listitem').filter({ hasText: 'Check the links' }).waitFor()
  const row = answers(page).locator('summary', { hasText: 'Run 2 commands' })
  await answers(page).getByText('1 failed: exit 3').waitFor()
  await row.click()
  await answers(page).getByText('exit code 3').waitFor()
  await answers(page).getByText('exit code 0').waitFor()
  await shot(page, 'project-done')

  await todo(page).getByRole('button', { name: 'Hide' }).click()
  await todo(page).waitFor({ state: 'detached' })
  assert.equal(await composer(page).evaluate(field => field === document.activeElement), true)
  await page.reload()
  await answers(page).getByText('The report is ready.').waitFor()
  assert.equal(await todo(page).count(), 0)
})

test('an existing conversation is bound by a command, and other tabs follow', async ({ open, app }) => {
  const page = await open()
  await say(page, 'hello')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  const other = await open({ path: new URL(page.url()).pathname })
  await other.getByRole('button', { name: 'Works in: Home' }).waitFor()
  await page.keyboard.press('ControlOrMeta+k')
  await page.getByRole('combobox').fill('Work in scratch')
  await page.getByRole('combobox').press('Enter')
  for (const each of [page, other]) await each.getByRole('button', { name: 'Works in: scratch/' }).waitFor()
  const history = await ask(app, `/api/sessions/${sessionOf(page)}/history`)
  assert.equal(history.project_id, 'scratch')
  await choose(other, /^Home/)
  await page.getByRole('button', { name: 'Works in: Home' }).waitFor()
})

test('the X-ray and the meter of a chat that is not sent yet are those of its project', async ({ open }) => {
  const page = await open()
  // The context window beside it may arrive later than the size.
  const size = async () => {
    const meter = page.getByRole('meter', { name: 'Context', exact: true }).first()
    const text = (await meter.getAttribute('aria-valuetext')) ?? ''
    return Number(/: ([\d,]+)/.exec(text)?.[1]?.replaceAll(',', '') ?? 0)
  }
  const inHome = await until(size, tokens => tokens > 0, 'the size')
  await choose(page, /^scratch/)
  const inProject = await until(size, tokens => tokens > inHome, 'the size in the project')
  await page.getByRole('button', { name: 'Prompt X-ray' }).click()
  const xray = page.getByRole('dialog', { name: /X-ray/ })
  await xray.locator('summary', { hasText: /^Project/ }).waitFor()
  await shot(page, 'project-xray')
  await page.keyboard.press('Escape')
  await choose(page, /^Home/)
  await until(size, tokens => tokens < inProject, 'the size in the home')
})

test('several files are named, with those that failed and why', async ({ open, app }) => {
  const page = await open()
  await choose(page, /^scratch/)
  await say(page, 'several files')
  await answers(page).getByText('Some of them.').waitFor()
  await settled(page)
  const row = answers(page).locator('summary', { hasText: 'Create 2 files' })
  await answers(page).getByText('1 failed: /there.txt').waitFor()
  await row.click()
  await answers(page).getByRole('list', { name: 'Failed items' }).getByText('/there.txt: exists').waitFor()
  await answers(page).locator('summary', { hasText: 'Search “one”' }).waitFor()
  assert.equal(await readFile(join(app.home, 'scratch/there.txt'), 'utf8'), 'kept\n')
  await shot(page, 'project-items')

  // Everywhere by the path that people know.
  await answers(page).getByRole('button', { name: 'scratch/report/a.txt', exact: true }).waitFor()
  await answers(page).getByRole('button', { name: 'View changes' }).click()
  const changes = page.getByRole('dialog', { name: 'Changes' })
  await changes.getByRole('article', { name: 'scratch/report/a.txt' }).waitFor()
  await changes.getByRole('treeitem', { name: /^scratch/ }).waitFor()
  assert.equal(await page.getByText('project/').count(), 0)
  await shot(page, 'project-changes')
  await page.keyboard.press('Escape')
  await answers(page).getByRole('button', { name: 'Withdraw' }).click()
  await page.getByRole('dialog').getByRole('region', { name: 'scratch/report/a.txt' }).waitFor()
  assert.equal(await page.getByText('project/').count(), 0)
  await shot(page, 'project-withdraw')
})

for (const { look, small, given } of LOOKS) {
  test(`a conversation in a project: ${look}`, async ({ open }) => {
    const page = await open(small ? { ...MOBILE, ...given } : given)
    await choose(page, /^scratch/)
    await page.locator('[data-composer]').fill(`look ${look}`)
    await page.locator('[data-composer]').press(small ? 'Control+Enter' : 'Enter')
    await page.getByText('The report is ready.').waitFor()
    await settled(page)
    await todo(page).locator('summary').click()
    await todo(page).getByRole('listitem').filter({ hasText: 'Check the links' }).waitFor()
    assert.deepEqual(await faults(page), [])
    await shot(page, `project-${look}`)
  })
}
