// A command that is tried out before it is answered: its effect appears in the same card, and exactly that is applied.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, ask, MOBILE, say, shot } from './harness.mjs'

const run = (match, id, tool, args) => [
  { match, steps: [{ tool_call: { id, name: tool, arguments: args } }, { finish: 'tool_calls' }] },
  { match, steps: [{ text: `After ${match}.` }, { finish: 'stop' }] },
]
const change = name => ({ command: `echo "in ${name}"; echo new > ${name}.txt; sed -i s/old/new/ notes.md` })
const slow = { command: 'sleep 2; echo late > late.txt' }
const replies = [
  ...run('change it', 't1', 'terminal', change('change')),
  ...run('leave it', 't2', 'terminal', change('leave')),
  ...run('only look', 't3', 'terminal', { command: 'cat notes.md; date +%N' }),
  ...run('take long', 't4', 'terminal', slow),
  ...run('use python', 't5', 'python_repl', { code: 'print(1)' }),
  ...LOOKS.flatMap(({ look }, n) => [
    ...run(`slow ${look} now`, `u${n}`, 'terminal', slow),
    ...run(`none ${look} now`, `v${n}`, 'terminal', { command: 'cat notes.md' }),
    ...run(`code ${look} now`, `w${n}`, 'python_repl', { code: 'print(2)' }),
  ]),
]
const test = withMiniclaw({
  replies,
  config: 'find_local_models: false\napprovals: {effects: {execute: ask}}\n',
  prepare: app => writeFile(join(app.home, 'scratch', 'notes.md'), '# Notes\n\nsome old words\n'),
})

const text = (app, name) => readFile(join(app.home, 'scratch', name), 'utf8').catch(() => null)
const card = page => page.getByRole('group', { name: /^(Approval needed|需要批准)/ })
const effect = page => card(page).getByRole('region', { name: /^(What it would change|将产生的更改)$/ })
const button = (page, name) => card(page).getByRole('button', { name })
const TRY = /^(Try it out first|先试运行)$/
const TRYING = /^(Trying it out…|正在试运行…)$/

/** The pending question. Without overlays no command can be tried out: the test is skipped. */
async function asked(page, app) {
  await card(page).waitFor()
  const { approvals } = await ask(app, '/api/approvals')
  const waiting = approvals.find(({ session_id }) => page.url().endsWith(session_id))
  test.skip(waiting?.rehearsal?.obstacle === 'system', 'this machine has no overlays')
  return waiting
}

test('a command is tried out by the keyboard, and what is shown is applied', async ({ app, open }) => {
  const page = await open()
  await say(page, 'change it')
  await page.waitForURL(/\/s\//)
  await asked(page, app)
  await button(page, TRY).focus()
  await page.keyboard.press('Enter')
  await effect(page).getByText('in change', { exact: true }).waitFor()
  await effect(page).getByText('creates 1', { exact: true }).waitFor()
  await effect(page).getByText('changes 1', { exact: true }).waitFor()
  assert.equal(await button(page, TRY).count(), 0)
  assert.ok(
    await card(page).evaluate(element => element.contains(document.activeElement)),
    'the focus stays in the card',
  )
  assert.equal(await text(app, 'change.txt'), null)
  await button(page, /^Apply/).click()
  await answers(page).getByText('After change it.').waitFor()
  assert.equal(await text(app, 'change.txt'), 'new\n')
  assert.match(await text(app, 'notes.md'), /some new words/)
})

test('nothing is changed if the trial is discarded, and other tabs see it', async ({ app, open }) => {
  const page = await open()
  await say(page, 'leave it')
  await page.waitForURL(/\/s\//)
  await asked(page, app)
  const other = await open()
  await other.goto(page.url())
  await button(other, TRY).waitFor()
  await button(page, TRY).click()
  await effect(other).getByText('in leave', { exact: true }).waitFor()
  await effect(page).getByText('in leave', { exact: true }).waitFor()
  await button(other, /^Discard\d?$/).click()
  await answers(page).getByText('After leave it.').waitFor()
  assert.equal(await text(app, 'leave.txt'), null)
})

test('a command without effect keeps its question and hands over its result', async ({ app, open }) => {
  const page = await open()
  await say(page, 'only look')
  await page.waitForURL(/\/s\//)
  await asked(page, app)
  await button(page, TRY).click()
  await effect(page).getByText('It would change no files.').waitFor()
  await button(page, /^Use this result/).click()
  await answers(page).getByText('After only look.').waitFor()
})

test('while it is tried out the card says so, a reload too, and it can be denied', async ({ app, open }) => {
  const page = await open()
  await say(page, 'take long')
  await page.waitForURL(/\/s\//)
  await asked(page, app)
  await button(page, TRY).click()
  await button(page, TRYING).waitFor()
  await page.reload()
  await button(page, TRYING).or(effect(page)).first().waitFor()
  await button(page, /^(Deny|Discard)\d?$/).click()
  await answers(page).getByText('After take long.').waitFor()
  assert.equal(await text(app, 'late.txt'), null)
})

test('a call that cannot be tried out has no button and says why', async ({ open }) => {
  const page = await open()
  await say(page, 'use python')
  await page.waitForURL(/\/s\//)
  await card(page).getByText('It can’t be tried out first. What this tool changes').waitFor()
  assert.equal(await button(page, TRY).count(), 0)
  await button(page, /^Deny\d?$/).click()
  await answers(page).getByText('After use python.').waitFor()
})

for (const { look, small, given } of LOOKS) {
  test(`each state of the card is accessible: ${look}`, async ({ app, open }) => {
    const page = await open(small ? { ...MOBILE, viewport: { width: 375, height: 812 }, ...given } : given)
    const send = async message => {
      await page.locator('[data-composer]').fill(message)
      await page.locator('[data-composer]').press(small ? 'Control+Enter' : 'Enter')
    }
    const seen = async state => {
      assert.deepEqual(await faults(page), [])
      await card(page).evaluate(element => element.scrollIntoView({ block: 'end' }))
      await shot(page, `try-out-${state}-${look}`)
    }
    await send(`slow ${look} now`)
    await page.waitForURL(/\/s\//)
    await asked(page, app)
    await button(page, TRY).waitFor()
    await seen('offered')
    await button(page, TRY).click()
    await button(page, TRYING).waitFor()
    await seen('running')
    await effect(page).waitFor()
    await seen('changes')
    await button(page, /^(Discard|放弃)\d?$/).click()
    await answers(page).getByText(`After slow ${look} now.`).waitFor()
    await send(`none ${look} now`)
    await button(page, TRY).click()
    await effect(page)
      .getByText(/^(It would change no files|不会更改任何文件)/)
      .waitFor()
    await seen('none')
    await button(page, /^(Discard|放弃)\d?$/).click()
    await answers(page).getByText(`After none ${look} now.`).waitFor()
    await send(`code ${look} now`)
    await card(page)
      .getByText(/^(It can’t be tried out first|无法先试运行)/)
      .waitFor()
    await seen('impossible')
    await button(page, /^(Deny|拒绝)\d?$/).click()
    await answers(page).getByText(`After code ${look} now.`).waitFor()
  })
}
