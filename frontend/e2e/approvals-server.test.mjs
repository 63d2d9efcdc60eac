// Pending calls under the server's own policy: allowed calls run, others do not.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withMiniclaw } from './fixtures.mjs'
import { answers, composer, openCalls, say, settled, shot, until } from './harness.mjs'

const call = (id, name, args) => [{ tool_call: { id, name, arguments: args } }, { finish: 'tool_calls' }]
const run = (match, id, command) => [
  { match, steps: call(id, 'terminal', { command }) },
  { match, steps: [{ text: `After ${match}.` }, { finish: 'stop' }] },
]
const edit = { path: 'memory/MEMORY.md', edits: [{ search: 'tea', replace: 'coffee' }] }
const REPLIES = [
  ...run('count once', 't1', 'echo one two'),
  ...run('the same always', 't2', 'echo always'),
  ...run('the same again', 't3', 'echo always'),
  ...run('something dangerous', 't4', 'echo boom'),
  ...run('wait for it', 't5', 'echo never'),
  ...run('in two tabs', 't6', 'echo tabs'),
  ...run('in chinese', 't7', 'echo zh'),
  { match: 'without a key', steps: [{ status: 401 }] },
  { match: 'likes coffee', steps: call('e1', 'edit_file', edit) },
  { match: 'likes coffee', steps: [{ text: 'Noted.' }, { finish: 'stop' }] },
]
const ASKING = 'approvals: {effects: {write: ask}, tools: {terminal: ask}}\n'

const test = withMiniclaw({
  replies: REPLIES,
  config: ASKING,
  prepare: app => writeFile(join(app.home, 'memory/MEMORY.md'), '# Memory\n\nAda likes tea.\n'),
})

const card = page => page.getByRole('group', { name: /^Approval needed/ })
const button = (page, name) => card(page).getByRole('button', { name, exact: true })
const memory = app => readFile(join(app.home, 'memory/MEMORY.md'), 'utf8')
async function openStep(page, tool) {
  await openCalls(answers(page).last())
  await answers(page).last().locator('summary', { hasText: tool }).click()
}

test('allowed calls run, and a reload in between changes nothing', async ({ open }) => {
  const page = await open()
  await say(page, 'count once')
  await card(page).getByText('echo one two').waitFor()
  await page.waitForURL(/\/s\//)
  await page.reload()
  await button(page, 'Allow once').click()
  await answers(page).getByText('After count once.').waitFor()
  await openStep(page, 'terminal')
  await answers(page).getByText('You allowed this once').waitFor()
  await answers(page).getByRole('region', { name: 'Output' }).getByText('one two').waitFor()
  await page.reload()
  await openStep(page, 'terminal')
  await answers(page).getByText('You allowed this once').waitFor()
})

test('in Chinese the page explains approvals and failures in Chinese', async ({ open }) => {
  const page = await open({ lang: 'zh' })
  const message = page.getByRole('textbox', { name: '消息', exact: true })
  await message.fill('in chinese')
  await message.press('Enter')
  const zhCard = page.getByRole('group', { name: '需要批准：运行命令' })
  await zhCard.getByText('此操作需要批准。').waitFor()
  assert.equal(await zhCard.getByText(/Running commands/).count(), 0)
  await shot(page, 'approval-zh')
  await zhCard.getByRole('button', { name: '允许一次' }).click()
  await answers(page).getByText('After in chinese.').waitFor()
  await message.fill('without a key')
  await message.press('Enter')
  const failed = page.getByText(/需要 API 密钥|拒绝了该 API 密钥/)
  await failed.waitFor()
  await page.reload()
  await failed.waitFor()
})

test('a standing rule allows exactly one input until it is removed', async ({ open }) => {
  const page = await open()
  await say(page, 'the same always')
  await button(page, 'Always allow this exact command').click()
  await answers(page).getByText('After the same always.').waitFor()
  await settled(page)
  await say(page, 'the same again')
  await answers(page).getByText('After the same again.').waitFor()
  await page.keyboard.press('Control+,')
  const dialog = page.getByRole('dialog', { name: 'Settings' })
  await dialog.getByText('echo always').waitFor()
  await dialog.getByRole('button', { name: 'Remove rule for terminal' }).click()
  await dialog.getByText('Nothing is always allowed').waitFor()
})

test('the model reads a denial with its reason', async ({ app, open }) => {
  const page = await open()
  await say(page, 'something dangerous')
  await button(page, 'Deny with reason…').click()
  await card(page).getByRole('textbox').fill('Not on a Sunday.')
  await button(page, 'Deny').click()
  await answers(page).getByText('After something dangerous.').waitFor()
  await openStep(page, 'terminal')
  await answers(page).getByText('You denied this: Not on a Sunday.').waitFor()
  const read = JSON.stringify((await app.requests()).at(-1))
  assert.ok(
    (await app.requests()).some(request => JSON.stringify(request).includes('Not on a Sunday.')),
    `the model was not told: ${read}`,
  )
})

test('a new message denies the pending call, and is the reason', async ({ open }) => {
  const page = await open()
  await say(page, 'wait for it')
  await card(page).waitFor()
  await say(page, 'rather tell me a joke')
  await card(page).waitFor({ state: 'detached' })
  await answers(page).getByText('rather tell me a joke').first().waitFor()
  assert.equal(await answers(page).count(), 1, 'the run goes on')
  assert.equal(await composer(page).inputValue(), '')
})

test('an answer in one tab settles the card in the other', async ({ open }) => {
  const page = await open()
  await say(page, 'in two tabs')
  await card(page).waitFor()
  const other = await open({ path: new URL(page.url()).pathname })
  await card(other).waitFor()
  await until(
    () => other.title(),
    title => title.startsWith('(!)'),
    'the mark in the title',
  )
  await button(page, 'Allow once').click()
  await card(other).waitFor({ state: 'detached' })
  await answers(other).getByText('After in two tabs.').waitFor()
})

test('a file change is previewed, undone and redone', async ({ app, open }) => {
  const page = await open()
  await say(page, 'Ada likes coffee')
  await page
    .getByRole('group', { name: 'Changes to memory/MEMORY.md' })
    .getByText('Ada likes coffee.')
    .waitFor()
  assert.match(await memory(app), /likes tea/)
  assert.equal(await button(page, 'Always allow this exact command').count(), 0)
  await button(page, 'Allow once').click()
  await answers(page).getByText('Noted.').waitFor()
  assert.match(await memory(app), /likes coffee/)
  const changes = answers(page).getByRole('group', { name: 'Changed files' })
  await changes.getByText('+1').waitFor()
  await shot(page, 'changed-files')
  for (const [name, words] of [
    ['Undo memory/MEMORY.md', /likes tea/],
    ['Redo memory/MEMORY.md', /likes coffee/],
  ]) {
    await changes.getByRole('button', { name }).click()
    await until(
      () => memory(app),
      text => words.test(text),
      `the file after ${name}`,
    )
  }
  await page.reload()
  await changes.getByRole('button', { name: 'Undo memory/MEMORY.md' }).click()
  await changes.getByText('undone').waitFor()
  await writeFile(join(app.home, 'memory/MEMORY.md'), 'Mine.\n')
  await changes.getByRole('button', { name: 'Redo memory/MEMORY.md' }).click()
  await page.getByText('Something went wrong').first().waitFor()
  assert.equal(await memory(app), 'Mine.\n')
})
