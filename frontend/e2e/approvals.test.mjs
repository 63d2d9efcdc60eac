// A pending call: what is shown, and every way to answer.
import assert from 'node:assert/strict'
import { ask, fakeApprovals, finish, told } from './fake-approvals.mjs'
import { catchStream } from './fake-retrieval.mjs'
import { withMiniclaw } from './fixtures.mjs'
import { answers, composer, openCalls, say, settled, shot, until } from './harness.mjs'

const test = withMiniclaw()

const card = page => page.getByRole('group', { name: /^Approval needed/ })
const row = page => page.locator('#pane-left [aria-current=page]')

/** Waits until the whole card is visible, or its end if the card is taller than the view. */
const inSight = page =>
  until(
    () =>
      card(page).evaluate(element => {
        const box = element.closest('[role=log]').getBoundingClientRect()
        const { top, bottom, height } = element.getBoundingClientRect()
        return bottom > box.top && bottom <= box.bottom + 1 && (top >= box.top - 1 || height > box.height)
      }),
    seen => seen,
    'the card in sight',
  )

async function conversation(open, { rules, ...look } = {}) {
  const world = { rules }
  const page = await open({
    ...look,
    prepare: async page => {
      await catchStream(page.context())
      await fakeApprovals(page, world)
    },
  })
  await say(page, 'hello')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  await page.waitForURL(/\/s\//)
  return { page, world }
}

test('a pending call shows everywhere a person may look, and runs once it is allowed', async ({ open }) => {
  const { page, world } = await conversation(open)
  await composer(page).fill('a draft')
  const asked = await ask(page, world)
  await card(page).getByText('bash tools/file-invoices.sh --month 2026-03').waitFor()
  await page.getByRole('status').getByText('Approval needed: terminal').waitFor({ state: 'attached' })
  await row(page).getByText('Approval', { exact: true }).waitFor()
  assert.match(await page.title(), /^\(!\) /)
  assert.equal(await composer(page).inputValue(), 'a draft')
  assert.ok(await composer(page).evaluate(area => area === document.activeElement))
  await shot(page, 'approval')
  await card(page).getByRole('button', { name: 'Allow once' }).click()
  await card(page).waitFor({ state: 'detached' })
  assert.deepEqual(world.answers, [{ decision: 'approve', hash: asked.hash }])
  await until(
    () => page.title(),
    title => !title.startsWith('(!)'),
    'the mark in the title to go',
  )
  await finish(page, asked)
  await openCalls(answers(page).last())
  await answers(page).locator('summary', { hasText: 'terminal' }).click()
  await answers(page).getByText('You allowed this once').waitFor()
})

test('the card takes the focus from an empty message box, and key 3 denies', async ({ open }) => {
  const { page, world } = await conversation(open)
  await composer(page).focus()
  const asked = await ask(page, world)
  await until(
    () => card(page).evaluate(element => element === document.activeElement),
    focused => focused,
    'the focus on the card',
  )
  await page.keyboard.press('Escape')
  assert.equal(await card(page).count(), 1)
  // A digit right after the card appeared may have been meant for the message box.
  await until(
    async () => {
      await page.keyboard.press('3')
      return world.answers.length
    },
    answered => answered === 1,
    'the answer',
  )
  assert.deepEqual(world.answers, [{ decision: 'deny', hash: asked.hash }])
  await finish(page, asked, 'denied')
  await openCalls(answers(page).last())
  await answers(page).locator('summary', { hasText: 'terminal' }).getByText('Denied').first().waitFor()
})

test('Mod+Alt+Enter allows the oldest call, but first shows it if it is out of view', async ({ open }) => {
  const { page, world } = await conversation(open)
  const session = new URL(page.url()).pathname
  await ask(page, world)
  await card(page).waitFor()
  await page.getByRole('button', { name: 'New chat', exact: true }).click()
  await page.waitForURL(url => url.pathname === '/')
  await page.keyboard.press('Control+Alt+Enter')
  await page.waitForURL(url => url.pathname === session)
  await inSight(page)
  assert.deepEqual(world.answers, [])
  await page.keyboard.press('Control+Alt+Enter')
  await card(page).waitFor({ state: 'detached' })
  assert.equal(world.answers[0].decision, 'approve')
  await ask(page, world)
  await inSight(page)
  await page.keyboard.press('Control+Alt+Backspace')
  await card(page).waitFor({ state: 'detached' })
  assert.equal(world.answers[1].decision, 'deny')
})

test('a card out of view is shown first, and answered once it is visible', async ({ open }) => {
  const { page, world } = await conversation(open, { viewport: { width: 1440, height: 460 } })
  await ask(page, world)
  await inSight(page)
  await page.getByRole('log').evaluate(box => {
    box.scrollTop = 0
  })
  await page.getByRole('button', { name: 'Scroll to latest' }).waitFor()
  await page.keyboard.press('Control+Alt+Enter')
  await inSight(page)
  assert.deepEqual(world.answers, [])
  await page.keyboard.press('Control+Alt+Enter')
  await card(page).waitFor({ state: 'detached' })
  assert.equal(world.answers[0].decision, 'approve')
})

test('the shortcuts for the oldest card submit its open form, but not behind a dialog', async ({ open }) => {
  const { page, world } = await conversation(open)
  const first = await ask(page, world)
  await card(page).waitFor()
  await page.keyboard.press('Control+,')
  await page.getByRole('dialog', { name: 'Settings' }).waitFor()
  await page.keyboard.press('Control+Alt+Enter')
  await page.keyboard.press('Control+Alt+Backspace')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog', { name: 'Settings' }).waitFor({ state: 'detached' })
  assert.deepEqual(world.answers, [])

  await card(page).getByRole('button', { name: 'Deny with reason…' }).click()
  await page.keyboard.press('Control+Alt+Enter')
  await card(page).getByRole('button', { name: 'Back', exact: true }).click()
  assert.deepEqual(world.answers, [])
  await card(page).getByRole('button', { name: 'Edit…' }).click()
  await card(page).getByRole('textbox', { name: 'command' }).fill('ls invoices')
  await page.keyboard.press('Control+Alt+Enter')
  await card(page).waitFor({ state: 'detached' })
  assert.deepEqual(world.answers, [
    { decision: 'approve', hash: first.hash, arguments: { command: 'ls invoices' } },
  ])
})

test('a person can edit the input and give a reason', async ({ open }) => {
  const { page, world } = await conversation(open)
  const first = await ask(page, world)
  await card(page).getByRole('button', { name: 'Edit…' }).click()
  await card(page).getByRole('textbox', { name: 'command' }).fill('ls invoices')
  await shot(page, 'approval-edit')
  await card(page).getByRole('button', { name: 'Allow with changes' }).click()
  await card(page).waitFor({ state: 'detached' })
  await finish(page, first)
  const second = await ask(page, world)
  await card(page).getByRole('button', { name: 'Deny with reason…' }).click()
  await card(page).getByRole('textbox').fill('Show me the list first.')
  await card(page).getByRole('button', { name: 'Deny', exact: true }).click()
  await card(page).waitFor({ state: 'detached' })
  await finish(page, second, 'denied')
  assert.deepEqual(world.answers, [
    { decision: 'approve', arguments: { command: 'ls invoices' }, hash: first.hash },
    { decision: 'deny', reason: 'Show me the list first.', hash: second.hash },
  ])
  for (const [n, words] of [
    [0, 'You allowed this with changes'],
    [1, 'You denied this: Show me the list first.'],
  ]) {
    const bubble = answers(page).nth(n + 1)
    await openCalls(bubble)
    await bubble.locator('summary', { hasText: 'terminal' }).click()
    await bubble.getByText(words).waitFor()
  }
})

test('a file change shows as a full diff', async ({ open }) => {
  const { page, world } = await conversation(open)
  await ask(page, world, {
    ...{ tool: 'edit_file', effect: 'write', arguments: { path: 'memory/MEMORY.md' } },
    shown: {
      path: 'memory/MEMORY.md',
      diff: '--- a/memory/MEMORY.md\n+++ b/memory/MEMORY.md\n@@ -1,2 +1,2 @@\n # Memory\n-Tea\n+Co\u200bffee <img src=x onerror=alert(1)>\n',
    },
  })
  await page.getByRole('group', { name: 'Approval needed: Change memory/MEMORY.md' }).waitFor()
  const diff = page.getByRole('group', { name: 'Changes to memory/MEMORY.md' })
  await diff.getByText('\\u200b').waitFor()
  assert.match(await diff.textContent(), /Co\\u200bffee <img src=x onerror=alert\(1\)>/)
  assert.equal(await diff.locator('img').count(), 0)
  assert.equal(await page.getByRole('button', { name: 'Always allow this exact command' }).count(), 0)
  await shot(page, 'approval-diff')
})

test('answered, expired and cancelled requests disappear with an explanation', async ({ open }) => {
  const { page, world } = await conversation(open)
  for (const [decision, status, words] of [
    ['approved', 'done', 'You allowed this once'],
    ['expired', 'denied', 'Denied: the request expired'],
    ['cancelled', 'cancelled', 'Canceled before it was answered'],
  ]) {
    const asked = await ask(page, world)
    await card(page).waitFor()
    world.waiting = []
    await told(page, asked, decision)
    await card(page).waitFor({ state: 'detached' })
    await finish(page, asked, status)
    const bubble = answers(page).last()
    await openCalls(bubble)
    await bubble.locator('summary', { hasText: 'terminal' }).click()
    await bubble.getByText(words).waitFor()
  }
  await shot(page, 'approval-states')
})

test('an answer that comes too late shows an error and removes the card', async ({ open }) => {
  const { page, world } = await conversation(open)
  await ask(page, world)
  await card(page).waitFor()
  world.waiting = []
  await card(page).getByRole('button', { name: 'Allow once' }).click()
  await page.getByText('This request has already been answered.').first().waitFor()
  await card(page).waitFor({ state: 'detached' })
})

test('standing rules are listed in the settings and can be removed', async ({ open }) => {
  const rule = { id: 'r1', tool: 'terminal', arguments: { command: 'make report' }, added_at: 1_790_000_000 }
  const { page } = await conversation(open, { rules: [rule] })
  await page.keyboard.press('Control+,')
  const dialog = page.getByRole('dialog', { name: 'Settings' })
  await dialog.getByText('make report').waitFor()
  await shot(page, 'settings')
  await dialog.getByRole('button', { name: 'Remove rule for terminal' }).click()
  await dialog.getByText('Nothing is always allowed').waitFor()
})

test('without a sandbox a red banner warns', async ({ open }) => {
  const page = await open({
    prepare: page =>
      page.route('**/api/status', async route => {
        const answer = await route.fetch()
        const status = await answer.json()
        await route.fulfill({ json: { ...status, sandbox: { level: 'off', note: 'by flag' } } })
      }),
  })
  await page.getByRole('alert').getByText('The sandbox is off').waitFor()
  await shot(page, 'sandbox-off')
})
