// The settings of config.yml: changed from the page with comments kept, and confirmed where they make it less safe.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withMiniclaw } from './fixtures.mjs'
import { composer, say, shot, until } from './harness.mjs'

const CONFIG =
  '# my own\nmax_iterations: 5   # not more\napprovals: {effects: {write: unattended, network: unattended}}\n'
const test = withMiniclaw({ config: CONFIG, env: { MINICLAW_VISION_MODELS: 'a-model' } })

const settings = page => page.getByRole('dialog', { name: 'Settings' })
const row = (page, key) => settings(page).locator(`[data-setting="${key}"]`)
const file = app => readFile(join(app.home, 'config.yml'), 'utf8')

async function openSettings(page, query) {
  await page.keyboard.press('ControlOrMeta+Comma')
  await settings(page).getByRole('searchbox', { name: 'Search settings' }).fill(query)
}

test('a setting is changed, its comment stays, and its default comes back', async ({ app, open }) => {
  const page = await open()
  await openSettings(page, 'max_iterations')
  const limit = row(page, 'max_iterations')
  await limit.getByText('· config.yml').waitFor()
  assert.equal(await limit.getByRole('spinbutton').inputValue(), '5')
  await limit.getByRole('spinbutton').fill('7')
  await page.keyboard.press('Enter')
  await until(
    () => file(app),
    text => text.includes('max_iterations: 7   # not more'),
    'the file',
  )
  await limit.getByRole('spinbutton').fill('99999')
  await page.keyboard.press('Enter')
  assert.match(await limit.getByRole('alert').textContent(), /between 1 and 1000/)
  await limit.getByRole('button', { name: /^Reset / }).click()
  await limit.getByText('· default').waitFor()
  assert.ok(!(await file(app)).includes('max_iterations'))
  assert.match(await file(app), /^# my own/)
})

test('what makes it less safe is confirmed first, and then decides the next call', async ({ app, open }) => {
  const page = await open()
  await openSettings(page, 'execute')
  const rule = row(page, 'approvals.effects.execute')
  const choice = rule.getByRole('combobox')
  await choice.selectOption({ label: 'Never' })
  await until(
    () => file(app),
    text => text.includes('execute: deny'),
    'the safer rule, without a question',
  )
  await choice.selectOption({ label: 'Without asking' })
  await rule.getByText(/This makes miniclaw less safe/).waitFor()
  await shot(page, 'setting-loosens')
  await rule.getByRole('button', { name: 'Cancel' }).click()
  assert.match(await file(app), /execute: deny/)
  assert.equal(await choice.inputValue(), 'deny')
  await choice.selectOption({ label: 'Without asking' })
  await rule.getByRole('button', { name: 'Change anyway' }).click()
  await until(
    () => file(app),
    text => text.includes('execute: allow'),
    'the confirmed rule',
  )
  await until(
    () => choice.inputValue(),
    value => value === 'allow',
    'the rule in the page',
  )
})

test('what the environment or the command line sets is shown as such', async ({ open }) => {
  const page = await open()
  await openSettings(page, 'vision_models')
  const models = row(page, 'vision_models')
  await models.getByText('· set in the environment').waitFor()
  assert.equal(await models.getByRole('textbox').inputValue(), 'a-model')
  assert.ok(await models.getByRole('textbox').isDisabled())
  await settings(page).getByRole('searchbox', { name: 'Search settings' }).fill('port')
  await row(page, 'port').getByText('· set on the command line').waitFor()
})

test('an invalid file is reported and not overwritten', async ({ app, open }) => {
  const before = await file(app)
  const page = await open()
  await writeFile(join(app.home, 'config.yml'), 'max_minutes: [1\n')
  try {
    await openSettings(page, 'max_minutes')
    await settings(page)
      .getByText(/config\.yml: .*line/)
      .waitFor()
    await shot(page, 'setting-invalid')
    await row(page, 'max_minutes').getByRole('spinbutton').fill('9')
    await page.keyboard.press('Enter')
    await row(page, 'max_minutes').getByRole('alert').waitFor()
    assert.equal(await file(app), 'max_minutes: [1\n')
  } finally {
    await writeFile(join(app.home, 'config.yml'), before)
  }
})

test('text size and density are those of this browser and survive a reload', async ({ open }) => {
  const page = await open()
  await say(page, 'hello')
  const answer = page.getByRole('log').getByText('All right.')
  await answer.waitFor()
  const sizeOf = locator => locator.evaluate(element => getComputedStyle(element).fontSize)
  const heightOf = locator => locator.evaluate(element => element.getBoundingClientRect().height)
  const button = page.getByRole('button', { name: 'New chat' }).first()
  const before = await heightOf(button)
  assert.equal(await sizeOf(answer), '14px')
  await openSettings(page, 'text size')
  await settings(page).getByRole('button', { name: 'Large', exact: true }).click()
  await settings(page).getByRole('button', { name: 'Compact', exact: true }).click()
  await page.keyboard.press('Escape')
  await page.reload()
  await answer.waitFor()
  assert.equal(await sizeOf(answer), '16px')
  assert.equal(await sizeOf(composer(page)), '16px')
  assert.ok((await heightOf(button)) < before, 'buttons are lower')
  await shot(page, 'compact-large')
})
