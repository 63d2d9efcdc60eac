// The effect of a command in the question about it: what is shown is what is applied, or nothing is.
import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, ask, MOBILE, openCalls, say, settled, shot, until } from './harness.mjs'

/** A red square of 16 pixels. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR42mM4KK9DEmIY1TCqYfhqAAAQJQwQLT3AUAAAAABJRU5ErkJggg=='
const run = (match, id, command) => [
  {
    match,
    steps: [{ tool_call: { id, name: 'terminal', arguments: { command } } }, { finish: 'tool_calls' }],
  },
  { match, steps: [{ text: `After ${match}.` }, { finish: 'stop' }] },
]
/** Changes, creates and deletes something in a folder of its own. */
const tidy = folder =>
  [
    `cd ${folder}`,
    'echo "tidying up"',
    'sed -i "s/old words/new words/" notes.md',
    'chmod +x run.sh',
    'rm junk.txt',
    'mkdir new && echo one > new/one.txt',
    'ln -s notes.md latest',
    `echo ${PNG} | base64 -d > square.png`,
  ].join('\n')
const FOLDERS = ['apply', 'discard', 'elsewhere', 'reload', ...LOOKS.map(({ look }) => look)]
const commit = [
  'git init -q repo && cd repo && echo one > one.txt && git add one.txt',
  'git -c user.name=Ada -c user.email=ada@example.org commit -qm "Add one"',
].join('\n')
const replies = [
  ...FOLDERS.flatMap((folder, n) => run(`tidy ${folder} up`, `r${n}`, tidy(folder))),
  ...run('only look', 'q1', 'ls; cat apply/run.sh'),
  ...run('keep it in git', 'g1', commit),
  ...run('make many', 'm1', 'mkdir many && for i in $(seq 1 250); do echo $i > many/file-$i.txt; done'),
]
const test = withMiniclaw({
  replies,
  config: 'find_local_models: false\n',
  prepare: async app => {
    for (const folder of FOLDERS) {
      const at = name => join(app.home, 'scratch', folder, name)
      await mkdir(at('.'), { recursive: true })
      await writeFile(at('notes.md'), '# Notes\n\nsome old words\n')
      await writeFile(at('run.sh'), 'echo hi\n')
      await writeFile(at('junk.txt'), 'junk\n')
    }
  },
})

const text = (app, ...path) => readFile(join(app.home, 'scratch', ...path), 'utf8').catch(() => null)
const card = page => page.getByRole('group', { name: /^(Approval needed|需要批准)/ })
const effect = page => card(page).getByRole('region', { name: /^(What it would change|将产生的更改)$/ })
const files = page => effect(page).getByRole('list', { name: /^(Changed files|已更改的文件)$/ })
const row = (page, name) => files(page).getByRole('listitem').filter({ hasText: name })
const button = (page, name) => card(page).getByRole('button', { name, exact: true })

/** The pending question. Without overlays a command cannot be run with its changes kept apart: the test is skipped. */
async function asked(page, app) {
  await card(page).waitFor()
  const { approvals } = await ask(app, '/api/approvals')
  const waiting = approvals.find(({ session_id }) => page.url().endsWith(session_id))
  test.skip(!waiting?.shown.rehearsal, 'this machine has no overlays, so no command can be rehearsed')
  return waiting
}

test('the effect is shown, opened, applied and undone', async ({ app, open }) => {
  const page = await open()
  await say(page, 'tidy apply up')
  await page.waitForURL(/\/s\//)
  const { shown } = await asked(page, app)
  assert.deepEqual(
    [shown.rehearsal.created, shown.rehearsal.changed, shown.rehearsal.deleted],
    [4, 2, 1],
    JSON.stringify(shown.rehearsal),
  )
  for (const words of ['deletes 1', 'changes 2', 'creates 4', 'exit code 0', 'tidying up'])
    await effect(page).getByText(words, { exact: true }).waitFor()
  await card(page)
    .getByText('It was run with its changes kept apart; applying them requires approval.')
    .waitFor()
  await answers(page).getByText('Awaiting approval').first().waitFor()
  assert.match(await files(page).getByRole('listitem').first().innerText(), /junk\.txt/)
  await row(page, 'notes.md').locator('summary').click()
  await row(page, 'notes.md').getByText('some new words').waitFor()
  await row(page, 'run.sh').getByText('Now executable').first().waitFor()
  await row(page, 'latest').locator('summary').click()
  await row(page, 'latest').getByText('notes.md', { exact: true }).waitFor()
  await row(page, 'square.png').locator('summary').click()
  const picture = row(page, 'square.png').getByRole('img', { name: /square\.png after the change$/ })
  await until(
    () => picture.evaluate(img => img.naturalWidth),
    width => width === 16,
    'the picture',
  )
  assert.equal(await text(app, 'apply', 'junk.txt'), 'junk\n')
  await button(page, 'Apply').click()
  await answers(page).getByText('After tidy apply up.').waitFor()
  await settled(page)
  await openCalls(answers(page))
  assert.equal(await answers(page).locator('summary', { hasText: 'terminal' }).count(), 1)
  await answers(page).locator('summary', { hasText: 'terminal' }).click()
  await answers(page).getByText('You allowed this once').waitFor()
  assert.equal(await text(app, 'apply', 'junk.txt'), null)
  assert.match(await text(app, 'apply', 'notes.md'), /new words/)
  const changes = answers(page).getByRole('group', { name: 'Changed files' })
  await changes.getByRole('heading', { name: '7 files changed' }).waitFor()
  assert.equal(await changes.getByText('+0').count(), 0)
  await shot(page, 'rehearsal-applied')
  await changes.getByRole('button', { name: 'Undo 7 files' }).click()
  await changes.getByText('undone').first().waitFor()
  assert.equal(await text(app, 'apply', 'junk.txt'), 'junk\n')
  assert.match(await text(app, 'apply', 'notes.md'), /old words/)
})

test('nothing is changed if it is discarded', async ({ app, open }) => {
  const page = await open()
  await say(page, 'tidy discard up')
  await page.waitForURL(/\/s\//)
  await asked(page, app)
  await row(page, 'junk.txt').waitFor()
  await button(page, 'Discard').click()
  await answers(page).getByText('After tidy discard up.').waitFor()
  assert.equal(await text(app, 'discard', 'junk.txt'), 'junk\n')
  assert.equal(await text(app, 'discard', 'new', 'one.txt'), null)
  assert.equal(await answers(page).getByRole('group', { name: 'Changed files' }).count(), 0)
})

test('a command without effect asks nothing', async ({ app, open }) => {
  const page = await open()
  await say(page, 'tidy elsewhere up')
  await page.waitForURL(/\/s\//)
  await asked(page, app)
  await button(page, 'Discard').click()
  await answers(page).getByText('After tidy elsewhere up.').waitFor()
  await settled(page)
  await say(page, 'only look')
  await answers(page).getByText('After only look.').waitFor()
  assert.equal(await card(page).count(), 0)
})

test('commits of a command are named among the changes', async ({ app, open }) => {
  const page = await open()
  await say(page, 'keep it in git')
  await page.waitForURL(/\/s\//)
  await asked(page, app)
  await button(page, 'Apply').click()
  await answers(page).getByText('After keep it in git.').waitFor()
  await settled(page)
  await answers(page).getByRole('button', { name: 'View changes' }).click()
  const list = page.getByRole('dialog', { name: 'Changes' })
  await list.getByText('1 git commit').click()
  await list.getByText('Add one').waitFor()
  await list.getByText('An undo takes back files, not commits.').waitFor()
  await shot(page, 'commits')
})

test('every file of many is listed, and the row leads to all of them', async ({ app, open }) => {
  const page = await open()
  await say(page, 'make many')
  await page.waitForURL(/\/s\//)
  await asked(page, app)
  await effect(page).getByText('creates 251', { exact: true }).waitFor()
  const box = files(page).locator('..')
  await until(
    async () => {
      await box.evaluate(list => list.scrollTo(0, list.scrollHeight))
      return files(page).locator('[aria-posinset="251"]').count()
    },
    count => count === 1,
    'the last file',
  )
  await button(page, 'Apply').click()
  const changes = answers(page).getByRole('group', { name: 'Changed files' })
  await changes.getByRole('heading', { name: '251 files changed' }).waitFor()
  await changes.getByRole('button', { name: '51 more files' }).click()
  await page.getByRole('dialog', { name: 'Changes' }).getByRole('treeitem').first().waitFor()
})

test('a reload keeps the question, and an answer from elsewhere ends it without an error', async ({
  app,
  open,
}) => {
  const page = await open()
  await say(page, 'tidy reload up')
  await page.waitForURL(/\/s\//)
  await asked(page, app)
  await page.reload()
  await row(page, 'junk.txt').waitFor()
  assert.equal(await card(page).count(), 1)
  // This tab has not heard of the answer yet.
  await page.route('**/api/approvals/*/changes', route =>
    route.fulfill({ status: 404, json: { code: 'not_found', message: 'no question has this id' } }),
  )
  await page.reload()
  await effect(page).getByText('The list isn’t available right now').waitFor()
  assert.equal(await page.getByText('Something went wrong').count(), 0)
  await page.unroute('**/api/approvals/*/changes')
  await row(page, 'junk.txt').waitFor()
  await button(page, 'Discard').click()
  await answers(page).getByText('After tidy reload up.').waitFor()
})

for (const { look, small, given } of LOOKS) {
  test(`the question is accessible: ${look}`, async ({ app, open }) => {
    const page = await open(small ? { ...MOBILE, viewport: { width: 375, height: 812 }, ...given } : given)
    await page.locator('[data-composer]').fill(`tidy ${look} up`)
    await page.locator('[data-composer]').press(small ? 'Control+Enter' : 'Enter')
    await page.waitForURL(/\/s\//)
    await asked(page, app)
    await row(page, 'notes.md').locator('summary').click()
    await row(page, 'notes.md').getByText('some new words').waitFor()
    assert.deepEqual(await faults(page), [])
    await card(page).evaluate(element => element.scrollIntoView({ block: 'end' }))
    await shot(page, `rehearsal-${look}`)
    await card(page)
      .getByRole('button', { name: /^(Discard|放弃)\d?$/ })
      .click()
    await answers(page).getByText(`After tidy ${look} up.`).waitFor()
  })
}
