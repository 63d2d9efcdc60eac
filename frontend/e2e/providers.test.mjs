// Providers and their models in the settings: added, tested, changed, removed, and their true state.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, composer, say, shot, until } from './harness.mjs'

const test = withMiniclaw()

const settings = page => page.getByRole('dialog', { name: /^(Settings|设置)$/ })
const card = (page, name) => settings(page).getByRole('article', { name, exact: true })

/** A provider with OpenAI's list of models, which accepts one key. */
async function provider(names, key) {
  const server = createServer((request, response) => {
    const right = key === undefined || request.headers.authorization === `Bearer ${key}`
    response.writeHead(right ? 200 : 401, { 'Content-Type': 'application/json' })
    response.end(
      JSON.stringify(
        right ? { data: names.map(id => ({ id })) } : { error: { message: 'Incorrect API key' } },
      ),
    )
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    stop: () => new Promise(resolve => server.close(resolve)),
  }
}

async function openProviders(page) {
  await page.keyboard.press('ControlOrMeta+Comma')
  await settings(page)
    .getByRole('region', { name: /Providers and models|服务商与模型/ })
    .waitFor()
}

async function add(page, url, key) {
  await settings(page).getByRole('button', { name: 'Add provider' }).click()
  const form = settings(page).locator('form')
  await form.getByRole('button', { name: 'Other…' }).click()
  await form.getByLabel('Base URL').fill(url)
  await form.getByLabel(/API key/).fill(key)
  await form.getByRole('button', { name: 'Connect' }).click()
  return form
}

const NAMES = ['alpha', 'beta-vision', ...Array.from({ length: 12 }, (_, n) => `model-${n}`), 'text-embed']

test('a provider is added, its models are chosen, and it is removed', async ({ app, open }) => {
  const other = await provider(NAMES, 'sk-canary-right')
  try {
    const page = await open()
    await openProviders(page)
    const form = await add(page, other.url, 'sk-canary-wrong')
    await form.getByRole('alert').waitFor()
    assert.ok(
      !(await readFile(join(app.home, 'config.yml'), 'utf8')).includes('providers'),
      'nothing is stored',
    )
    await form.getByLabel(/API key/).fill('sk-canary-right')
    await form.getByRole('button', { name: 'Connect' }).click()
    await form.getByLabel('Model').fill('alpha')
    await form.getByRole('button', { name: 'Start with this model' }).click()
    const added = card(page, '127.0.0.1').filter({ hasText: other.url })
    await added.getByText('Ready').waitFor()
    await added.getByText('14 of 15 models').click()
    await added.getByRole('searchbox', { name: 'Search models' }).fill('vision')
    assert.equal(await added.getByRole('listitem').count(), 1)
    await added.getByRole('button', { name: 'Favorite: beta-vision' }).click()
    await added.locator('[aria-label="Favorite: beta-vision"][aria-pressed=true]').waitFor()
    await added.getByRole('button', { name: 'Settings of beta-vision' }).click()
    await page.getByRole('menuitem', { name: 'Use as fallback' }).click()
    await added.getByText('Fallback', { exact: true }).waitFor()
    await added.getByRole('button', { name: 'Settings of beta-vision' }).click()
    await page.getByRole('menuitem', { name: 'Parameters' }).click()
    await added.getByLabel(/Temperature/).fill('3')
    await added.getByRole('button', { name: 'Save' }).click()
    await added.getByRole('alert').waitFor()
    await added.getByLabel(/Temperature/).fill('0.5')
    await shot(page, 'provider-parameters')
    await added.getByRole('button', { name: 'Save' }).click()
    await added.getByLabel(/Temperature/).waitFor({ state: 'detached' })
    await added.getByRole('searchbox').fill('alpha')
    await added.getByText('Default', { exact: true }).waitFor()
    await added.getByRole('searchbox').fill('model-3')
    await added.getByRole('checkbox', { name: 'Available: model-3' }).click()
    await added.getByText('13 of 15 models').waitFor()
    const config = await readFile(join(app.home, 'config.yml'), 'utf8')
    assert.match(config, /temperature: 0\.5/)
    assert.match(config, /fallback_model:/)
    assert.ok(!config.includes('canary') && !(await page.content()).includes('canary'))

    // The choice below the text field shows the favorite first.
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: /^Model: / }).click()
    const items = page.getByRole('menuitemcheckbox')
    assert.match(await items.nth(1).textContent(), /beta-vision/)
    assert.equal(await page.getByRole('menuitemcheckbox', { name: /model-3/ }).count(), 0)
    await page.keyboard.press('Escape')

    await other.stop()
    await openProviders(page)
    await added.getByRole('button', { name: 'Check 127.0.0.1 now' }).click()
    await added.getByText(/^Unreachable since \d\d:\d\d/).waitFor()
    await shot(page, 'provider-unreachable')
    await added.getByRole('button', { name: 'Remove 127.0.0.1' }).click()
    await added.getByRole('button', { name: 'Remove 127.0.0.1' }).last().click()
    await added.waitFor({ state: 'detached' })
    assert.ok(!(await readFile(join(app.home, '.env'), 'utf8')).includes('canary'), 'the key is gone too')
  } finally {
    await other.stop().catch(() => {})
  }
})

test('a key and an address are changed only after a test', async ({ app, open }) => {
  const first = await provider(['one'], 'sk-canary-a')
  const second = await provider(['two'], 'sk-canary-b')
  try {
    const page = await open()
    await openProviders(page)
    const form = await add(page, first.url, 'sk-canary-a')
    await form.getByRole('button', { name: 'Start with this model' }).click()
    const one = settings(page).getByRole('article').filter({ hasText: first.url })
    await one.getByRole('button', { name: /^Edit / }).click()
    await one.getByLabel('Name').fill('Mine')
    await one.getByLabel('Base URL').fill(second.url)
    await one.getByRole('button', { name: 'Save' }).click()
    assert.match(await one.getByRole('alert').textContent(), /key belongs to the old address/)
    await one.getByLabel(/New API key/).fill('sk-canary-wrong')
    await one.getByRole('button', { name: 'Save' }).click()
    await until(
      () => one.getByRole('alert').textContent(),
      text => !text.includes('old address'),
      'the refusal of the key',
    )
    await one.getByLabel(/New API key/).fill('sk-canary-b')
    await one.getByRole('button', { name: 'Save' }).click()
    await card(page, 'Mine').getByText(second.url).waitFor()
    const env = await readFile(join(app.home, '.env'), 'utf8')
    assert.ok(env.includes('sk-canary-b') && !env.includes('sk-canary-a'), env)
    await card(page, 'Mine').getByRole('button', { name: 'Remove Mine' }).click()
    await card(page, 'Mine').getByRole('button', { name: 'Remove Mine' }).last().click()
    await card(page, 'Mine').waitFor({ state: 'detached' })
  } finally {
    await first.stop()
    await second.stop()
  }
})

test('what the environment sets is shown as such, and a message shows its state', async ({ app, open }) => {
  const page = await open()
  await openProviders(page)
  const set = settings(page).getByRole('article').filter({ hasText: app.provider })
  await set.getByText(/Set in the environment of the server/).waitFor()
  assert.equal(await set.getByRole('button', { name: /^(Edit|Remove) / }).count(), 0)
  await page.keyboard.press('Escape')
  await composer(page).waitFor()
  await say(page, 'hello')
  await answers(page).getByText('All right.').waitFor()
  await openProviders(page)
  await set.getByText('Ready').waitFor()
})

for (const { look, small, given } of LOOKS)
  test(`the providers: ${look}`, async ({ open }) => {
    const page = await open(given)
    await openProviders(page)
    const provided = settings(page).getByRole('article').first()
    await provided.locator('summary').click()
    await provided.getByRole('listitem').first().waitFor()
    await settings(page)
      .getByRole('button', { name: /^(Add provider|添加服务商)$/ })
      .click()
    await shot(page, `providers-${look}`)
    assert.deepEqual(await faults(page), [])
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
    assert.equal(wide, false, `nothing is wider than the screen${small ? ' of a phone' : ''}`)
  })
