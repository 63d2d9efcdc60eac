// What may run in one conversation, chosen in the composer; and hosts that are always allowed.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, MOBILE, openCalls, say, settled, shot, until } from './harness.mjs'

const call = (id, name, args) => [{ tool_call: { id, name, arguments: args } }, { finish: 'tool_calls' }]
const text = words => [{ text: words }, { finish: 'stop' }]
const run = (match, id) => [
  { match, steps: call(id, 'terminal', { command: `echo ${id} >> ran.txt` }) },
  { match, steps: text(`After ${match}.`) },
]
const REPLIES = [
  ...run('only look', 't1'),
  ...run('in the sandbox', 't2'),
  { match: 'make a plan', steps: text('First look, then write.') },
  ...run('Carry out the plan', 't3'),
  { match: 'read a page', steps: call('f1', 'fetch_url', { url: 'http://localhost:9/one' }) },
  { match: 'read a page', steps: text('After the page.') },
]
const test = withMiniclaw({
  replies: REPLIES,
  config: "approvals: {tools: {terminal: ask}}\nfetch_allow_hosts: ['localhost:9']\n",
})

const picker = page => page.getByRole('button', { name: /^Permissions: / })
const card = page => page.getByRole('group', { name: /^Approval needed/ })
const ran = app => readFile(join(app.home, 'scratch/ran.txt'), 'utf8').catch(() => '')

async function choose(page, mode) {
  await picker(page).click()
  await page.getByRole('menuitemcheckbox', { name: mode }).click()
}
const isNow = (page, mode) => page.getByRole('button', { name: `Permissions: ${mode}` }).waitFor()

test('read only denies a command in the first message of a new chat, after a reload too', async ({
  open,
  app,
}) => {
  const page = await open()
  await choose(page, 'Read only')
  await isNow(page, 'Read only')
  await say(page, 'only look')
  await answers(page).getByText('After only look.').waitFor()
  assert.equal(await ran(app), '')
  assert.equal(await card(page).count(), 0)
  await page.waitForURL(/\/s\//)
  await page.reload()
  await isNow(page, 'Read only')
  await openCalls(answers(page).last())
  await answers(page).locator('summary', { hasText: 'terminal' }).getByText('Denied').first().waitFor()
})

test('sandboxed is confirmed first, then commands run without a question', async ({ open, app }) => {
  const page = await open()
  await choose(page, 'Sandboxed')
  const dialog = page.getByRole('dialog', { name: 'Run sandboxed commands without approval?' })
  await dialog.waitFor()
  assert.deepEqual(await faults(page), [])
  await shot(page, 'mode-confirm')
  await page.keyboard.press('Escape')
  await isNow(page, 'Default')
  await choose(page, 'Sandboxed')
  await dialog.getByRole('button', { name: 'Allow in this conversation' }).click()
  await isNow(page, 'Sandboxed')
  await say(page, 'in the sandbox')
  await answers(page).getByText('After in the sandbox.').waitFor()
  assert.equal(await card(page).count(), 0)
  assert.equal(await ran(app), 't2\n')
})

test('a plan is carried out with the default permissions', async ({ open, app }) => {
  const page = await open()
  await choose(page, 'Plan')
  await say(page, 'make a plan')
  await answers(page).getByText('First look, then write.').waitFor()
  await page.getByRole('region', { name: 'Plan' }).waitFor()
  await shot(page, 'mode-plan')
  await page.getByRole('button', { name: 'Carry out the plan' }).click()
  await card(page).getByText('echo t3 >> ran.txt').waitFor()
  await isNow(page, 'Default')
  await card(page).getByRole('button', { name: 'Allow once' }).click()
  await answers(page).getByText('After Carry out the plan.').waitFor()
  assert.match(await ran(app), /t3\n/)
})

test('a host is always allowed, shown in the settings and removed there', async ({ open }) => {
  const page = await open()
  await say(page, 'read a page')
  await card(page).getByRole('button', { name: 'Always allow localhost:9' }).click()
  await answers(page).getByText('After the page.').waitFor()
  await settled(page)
  await page.getByRole('button', { name: 'Settings' }).first().click()
  const settings = page.getByRole('dialog', { name: 'Settings' })
  await settings.getByRole('searchbox').fill('always')
  const rule = settings.getByRole('listitem').filter({ hasText: 'localhost:9' })
  await rule.getByRole('button').click()
  await rule.waitFor({ state: 'detached' })
})

for (const { look, small, given } of LOOKS) {
  test(`the choice of permissions: ${look}`, async ({ open }) => {
    const page = await open(small ? { ...MOBILE, ...given } : given)
    await page.getByRole('button', { name: /^(Permissions: |权限：)/ }).click()
    await until(
      () => page.getByRole('menuitemcheckbox').count(),
      count => count === 5,
      'five modes',
    )
    assert.deepEqual(await faults(page), [])
    await shot(page, `modes-${look}`)
  })
}
