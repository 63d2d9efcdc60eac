// The sheet “This conversation”: what is chosen for a conversation, seen and changed.
import assert from 'node:assert/strict'
import { expect } from '@playwright/test'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, ask, MOBILE, say, settled, shot } from './harness.mjs'

const CONFIG = `find_local_models: false
models:
  - {id: deepseek-chat, api_url: 'https://api.deepseek.com', api_key: x}
`
const WAITS = [{ gate: 'go' }, { text: 'Now it is done.' }, { finish: 'stop' }]
const test = withMiniclaw({ config: CONFIG, replies: [{ match: 'wait a little', steps: WAITS }] })

const NAME = /^(This conversation|此对话)$/
const sheet = page => page.getByRole('dialog', { name: NAME })
const button = page => page.locator('#pane-chat header').getByRole('button', { name: NAME })
const field = (page, name) => sheet(page).locator(`[data-field=${name}]`)
const row = (page, name) =>
  sheet(page)
    .locator('[data-row]')
    .filter({ has: page.locator(`[data-field=${name}]`) })
const save = page => sheet(page).getByRole('button', { name: /^(Save|保存)$/ })
const sessionOf = page => new URL(page.url()).pathname.split('/')[2]
const historyOf = (app, page) => ask(app, `/api/sessions/${sessionOf(page)}/history`)

async function begin(open, text = 'hello', given = {}) {
  const page = await open(given)
  await page.locator('[data-composer]').fill(text)
  await page.locator('[data-composer]').press('Control+Enter')
  await page.waitForURL(/\/s\//)
  return page
}

async function opened(open, given) {
  const page = await begin(open, 'hello', given)
  await page.getByText('All right.').waitFor()
  await settled(page)
  await button(page).click()
  await field(page, 'title').waitFor()
  return page
}

test('values are saved for the next message, shown after a reload, and reset one by one', async ({
  open,
  app,
}) => {
  const page = await opened(open)
  assert.equal(await field(page, 'temperature').getAttribute('placeholder'), 'Not sent')
  assert.equal(await field(page, 'temperature').inputValue(), '')
  assert.equal(await field(page, 'thinking_enabled').isDisabled(), true)
  assert.equal(await save(page).isDisabled(), true)
  await field(page, 'title').fill('Letters to  the mayor')
  await field(page, 'system_prompt').fill('Answer in rhymes.')
  await field(page, 'temperature').fill('0.7')
  await field(page, 'max_tokens').fill('4096')
  await field(page, 'model').selectOption({ label: 'DeepSeek deepseek-chat' })
  await field(page, 'thinking_enabled').selectOption('off')
  await field(page, 'project_id').click()
  await page.getByRole('option', { name: /^scratch/ }).click()
  await expect(field(page, 'project_id')).toBeFocused()
  await save(page).click()
  await sheet(page).getByText('Saved. Applies from the next message.').waitFor()
  await expect(save(page)).toBeFocused()
  const { chosen, project_id, title } = await historyOf(app, page)
  assert.deepEqual(chosen, {
    ...{ model: 'deepseek/deepseek-chat', thinking: false, system_prompt: 'Answer in rhymes.' },
    ...{ temperature: 0.7, max_tokens: 4096 },
  })
  assert.deepEqual([project_id, title], ['scratch', 'Letters to the mayor'])
  await expect(page.locator('#chat-title')).toHaveText('Letters to the mayor')
  await page.getByRole('button', { name: 'Works in: scratch/' }).first().waitFor()

  // The next request has the instructions under their own label.
  await sheet(page).getByRole('button', { name: 'X-ray of the next request' }).click()
  const xray = page.getByRole('dialog', { name: /X-ray/ })
  await xray.locator('summary', { hasText: 'Conversation Instructions' }).waitFor()
  await page.keyboard.press('Escape')
  await xray.waitFor({ state: 'detached' })

  await page.reload()
  await button(page).click()
  await expect(field(page, 'system_prompt')).toHaveValue('Answer in rhymes.')
  await expect(field(page, 'temperature')).toHaveValue('0.7')
  for (const name of ['Model', 'Conversation Instructions', 'Thinking', 'Works in', 'Title']) {
    await sheet(page)
      .getByRole('button', { name: `Reset “${name}” to default` })
      .click()
  }
  await expect(field(page, 'title')).toBeFocused()
  for (const name of ['Temperature (0–2)', 'Maximum response tokens']) {
    await sheet(page)
      .getByRole('button', { name: `Reset “${name}” to default` })
      .click()
  }
  assert.equal(
    await sheet(page)
      .getByRole('button', { name: /^Reset/ })
      .count(),
    0,
  )
  await save(page).click()
  await sheet(page).getByText('Saved. Applies from the next message.').waitFor()
  const after = await historyOf(app, page)
  assert.deepEqual(after.chosen ?? {}, {})
  assert.deepEqual([after.project_id ?? null, after.title], [null, ''])
})

test('a value out of range is explained at its field, and so is what the server refuses', async ({
  open,
  app,
}) => {
  const page = await opened(open)
  await field(page, 'temperature').fill('3')
  await row(page, 'temperature').getByText('A temperature is a number from 0 to 2.').waitFor()
  assert.equal(await field(page, 'temperature').getAttribute('aria-invalid'), 'true')
  assert.equal(await save(page).isDisabled(), true)
  assert.deepEqual(await faults(page), [])
  await field(page, 'temperature').fill('1.5')
  await page.route('**/api/conversations/*', route =>
    route.fulfill({
      status: 409,
      json: { code: 409, message: 'deepseek-chat is not available any more', reason: 'unknown_model' },
    }),
  )
  await field(page, 'model').selectOption({ label: 'DeepSeek deepseek-chat' })
  await save(page).click()
  await row(page, 'model').getByRole('alert').waitFor()
  await expect(field(page, 'model')).toBeFocused()
  await shot(page, 'conversation-refused')
  await page.unroute('**/api/conversations/*')
  // What was refused can be changed, and the rest is still there.
  await field(page, 'model').selectOption('')
  assert.equal(await row(page, 'model').getByRole('alert').count(), 0)
  await save(page).click()
  await sheet(page).getByText('Saved. Applies from the next message.').waitFor()
  assert.deepEqual((await historyOf(app, page)).chosen, { temperature: 1.5 })
})

test('changes that are not saved are not lost without a question', async ({ open, app }) => {
  const page = await opened(open)
  await field(page, 'system_prompt').fill('Be brief.')
  assert.equal(
    await sheet(page).getByRole('button', { name: 'X-ray of the next request' }).isDisabled(),
    true,
  )
  await page.keyboard.press('Escape')
  await sheet(page).getByText('You have unsaved changes.').waitFor()
  await sheet(page).getByRole('button', { name: 'Keep editing' }).click()
  await expect(field(page, 'system_prompt')).toHaveValue('Be brief.')
  await page.keyboard.press('Escape')
  await sheet(page).getByRole('button', { name: 'Discard changes' }).click()
  await sheet(page).waitFor({ state: 'detached' })
  await expect(button(page)).toBeFocused()
  assert.equal((await historyOf(app, page)).chosen, undefined)
})

test('it opens from the menu of a conversation and from the palette, and follows other tabs', async ({
  open,
  app,
}) => {
  const page = await opened(open)
  const other = await open({ path: `/s/${sessionOf(page)}` })
  await other.keyboard.press('ControlOrMeta+k')
  await other.getByRole('combobox').fill('This conversation')
  await other.getByRole('combobox').press('Enter')
  await field(other, 'temperature').fill('0.5')
  await save(other).click()
  // A value that is not edited here shows what was saved there, and is not written over.
  await expect(field(page, 'temperature')).toHaveValue('0.5')
  await field(page, 'max_tokens').fill('100')
  await save(page).click()
  await sheet(page).getByText('Saved. Applies from the next message.').waitFor()
  assert.deepEqual((await historyOf(app, page)).chosen, { temperature: 0.5, max_tokens: 100 })
  await page.keyboard.press('Escape')

  const fresh = await open()
  assert.equal(await button(fresh).isDisabled(), true)
  await fresh.locator('#pane-left [data-session]').first().hover()
  await fresh.locator('#pane-left .scroll [aria-haspopup=menu]').first().click()
  await fresh.getByRole('menuitem', { name: 'This conversation' }).click()
  await expect(field(fresh, 'max_tokens')).toHaveValue('100')
  // The X-ray would be that of the open chat.
  assert.equal(await sheet(fresh).getByRole('button', { name: 'X-ray of the next request' }).count(), 0)
})

test('during a run, only the project has to wait', async ({ open, app }) => {
  const page = await begin(open, 'wait a little')
  await page.getByRole('button', { name: 'Stop' }).waitFor()
  await button(page).click()
  await sheet(page).getByText('The response that is being written isn’t affected.').waitFor()
  assert.equal(await field(page, 'project_id').isDisabled(), true)
  await row(page, 'project_id').getByText('Wait until the current run ends to change this.').waitFor()
  assert.deepEqual(await faults(page), [])
  await field(page, 'max_tokens').fill('200')
  await save(page).click()
  await sheet(page).getByText('Saved. Applies from the next message.').waitFor()
  await shot(page, 'conversation-running')
  await app.openGate('go')
  await expect(field(page, 'project_id')).toBeEnabled()
  await page.keyboard.press('Escape')
  await answers(page).getByText('Now it is done.').waitFor()
  await say(page, 'and now')
  await expect(answers(page)).toHaveCount(2)
  await settled(page)
  const sent = (await app.requests()).filter(body => body.tools)
  assert.deepEqual(
    sent.slice(-2).map(body => body.max_tokens ?? body.max_completion_tokens ?? null),
    [null, 200],
  )
})

for (const { look, small, given } of LOOKS) {
  test(`the sheet of a conversation: ${look}`, async ({ open }) => {
    const page = await opened(open, small ? { ...MOBILE, ...given } : given)
    assert.deepEqual(await faults(page), [])
    await shot(page, `conversation-${look}-unset`)
    await field(page, 'title').fill('Letters to the mayor')
    await field(page, 'system_prompt').fill('Answer in rhymes, and name the source of each figure.')
    await field(page, 'temperature').fill('0.7')
    await field(page, 'max_tokens').fill('0')
    assert.deepEqual(await faults(page), [])
    await shot(page, `conversation-${look}`)
    await field(page, 'project_id').scrollIntoViewIfNeeded()
    await field(page, 'project_id').click()
    await page.getByRole('option', { name: /^scratch/ }).waitFor()
    assert.deepEqual(await faults(page), [])
    await shot(page, `conversation-${look}-places`)
  })
}
