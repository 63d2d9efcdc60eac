// Several calls of one step, and the time to answer: the server's own policy and timers.
import assert from 'node:assert/strict'
import { faults, withMiniclaw } from './fixtures.mjs'
import { answers, ask, MOBILE, say, shot, until } from './harness.mjs'

const calls = made => [
  ...made.map(([id, name, args]) => ({ tool_call: { id, name, arguments: args } })),
  { finish: 'tool_calls' },
]
const THREE = [
  ['a1', 'terminal', { command: 'for f in *.md; do\n  echo "$f" # each\ndone' }],
  ['a2', 'python_repl', { code: 'import math\nprint(math.pi)' }],
  ['a3', 'delete_file', { path: 'memory/MEMORY.md' }],
]
const answer = match => ({ match, steps: [{ text: `After ${match}.` }, { finish: 'stop' }] })
const REPLIES = [
  { match: 'do all three', steps: calls(THREE) },
  answer('do all three'),
  { match: 'by keyboard', steps: calls(THREE.slice(0, 2)) },
  answer('by keyboard'),
  { match: 'deny one', steps: calls([['d1', 'terminal', { command: 'echo no' }]]) },
  answer('deny one'),
  { match: 'take your time', steps: calls([['t1', 'terminal', { command: 'echo later' }]]) },
  answer('take your time'),
  { match: 'im Dunkeln', steps: calls(THREE) },
]
// Long enough for a busy page to hold a request, and short enough to wait for.
const TIMEOUT = 8
const test = withMiniclaw({
  replies: REPLIES,
  config: `approvals: {timeout_seconds: ${TIMEOUT}, effects: {write: ask, execute: ask}}\n`,
})

const cards = page => page.getByRole('group', { name: /^Approval needed/ })
const headings = page => cards(page).getByRole('heading').allTextContents()

test('all calls of a step are allowed at once, in the order of the calls', async ({ open, app }) => {
  const page = await open()
  await say(page, 'do all three')
  await cards(page).nth(2).waitFor()
  assert.deepEqual(await headings(page), ['Run a command', 'Run Python code', 'Delete memory/MEMORY.md'])
  await cards(page).nth(2).getByRole('list', { name: 'Risks' }).getByText('Deletes a file').waitFor()
  // Code is code: with its line breaks, and in colour.
  await cards(page).nth(1).locator('pre .hljs-keyword').getByText('import').waitFor()
  assert.equal(await cards(page).nth(0).locator('pre').textContent(), THREE[0][2].command)
  assert.deepEqual(await faults(page), [])
  await shot(page, 'approval-step')
  await page.getByRole('button', { name: /^Allow all 3 once/ }).click()
  await answers(page).getByText('After do all three.').waitFor()
  assert.ok((await app.requests()).some(body => JSON.stringify(body).includes('3.14159')))
})

test('the keys of the step allow all of it', async ({ open }) => {
  const page = await open()
  await say(page, 'by keyboard')
  await cards(page).nth(1).waitFor()
  await page.getByRole('button', { name: /^Allow all 2 once/ }).scrollIntoViewIfNeeded()
  await page.keyboard.press('Control+Alt+Shift+Enter')
  await answers(page).getByText('After by keyboard.').waitFor()
})

test('a denied call stays visible in a folded chain', async ({ open }) => {
  const page = await open()
  await say(page, 'deny one')
  await cards(page).getByRole('button', { name: 'Deny with reason…' }).click()
  await page.getByRole('textbox', { name: 'Reason (sent to miniclaw)' }).fill('not today')
  await cards(page).getByRole('button', { name: 'Deny', exact: true }).click()
  await answers(page).getByText('After deny one.').waitFor()
  const refused = page.getByRole('list', { name: 'Calls that did not run' })
  await refused.getByText('You denied this: not today').waitFor()
  await page.reload()
  await refused.getByText('You denied this: not today').waitFor()
  assert.deepEqual(await faults(page), [])
  await shot(page, 'approval-denied-folded')
})

test('a request waits while the page is in view, and expires after it is closed', async ({ open, app }) => {
  const page = await open()
  let holds = 0
  page.on('response', response => {
    if (response.url().endsWith('/hold') && response.ok()) holds += 1
  })
  await say(page, 'take your time')
  await cards(page).getByText('Waits while you’re here').waitFor()
  const [first] = (await ask(app, '/api/approvals')).approvals
  // Until well after the time at which it would have expired.
  await until(
    () => Date.now() / 1000 - first.asked_at,
    passed => passed > TIMEOUT + 1,
    'the time to pass',
  )
  assert.ok(holds >= 2, `${holds}`)
  assert.equal(await cards(page).count(), 1)
  const address = page.url()
  await page.close()
  await until(
    () => ask(app, '/api/approvals'),
    ({ approvals }) => approvals.length === 0,
    'the request to expire',
  )
  const later = await open({ path: new URL(address).pathname })
  await later.getByText('Denied: the request expired').first().waitFor()
})

test('the cards are readable on a phone, in the dark and in Chinese', async ({ open }) => {
  const page = await open({ ...MOBILE, lang: 'zh', theme: 'dark' })
  const message = page.getByRole('textbox', { name: '消息', exact: true })
  await message.fill('im Dunkeln')
  await page.getByRole('button', { name: '发送' }).click()
  await page.getByRole('button', { name: /^全部允许一次/ }).waitFor()
  assert.deepEqual(await faults(page), [])
  await shot(page, 'approval-step-mobile-zh-dark')
})
