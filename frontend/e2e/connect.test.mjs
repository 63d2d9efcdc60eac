// The first run without a model: connecting a provider from the page, and a page older than its server.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, composer, say, shot, until } from './harness.mjs'

// Empty variables count as unset.
const NO_MODEL = { OPENAI_API_KEY: '', OPENAI_BASE_URL: '', OPENAI_MODEL: '', MINICLAW_LLM: '/none' }
const test = withMiniclaw({ env: NO_MODEL })

const card = page => page.getByRole('region', { name: 'Connect a model' })

// Before a model is connected below.
for (const { look, given } of LOOKS)
  test(`the first run is calm: ${look}`, async ({ open }) => {
    const page = await open(given)
    await page.getByRole('region', { name: /^(Connect a model|连接模型)$/ }).waitFor()
    await shot(page, `first-run-${look}`)
    assert.deepEqual(await faults(page), [])
    const red = await page.evaluate(() => document.querySelectorAll('.text-bad, .bg-bad').length)
    assert.equal(red, 0, 'nothing is red before anything was tried')
  })

test('without a model one card checks the key, and the first answer follows', async ({ app, open }) => {
  const page = await open()
  const first = card(page)
  await first.getByText('Try the small built-in model').click()
  await first.getByText('make model').waitFor()
  await first.getByText('Try the small built-in model').click()
  assert.equal(await page.locator('#pane-chat ul button').count(), 3, 'the three starters are there')
  await shot(page, 'first-run')
  // A key with a form of its own chooses its provider.
  await first.getByLabel(/API key/).fill('sk-ant-typed')
  assert.equal(await first.getByRole('button', { name: 'Anthropic' }).getAttribute('aria-pressed'), 'true')
  await first.getByRole('button', { name: 'Other…' }).click()
  await first.getByLabel('Base URL').fill('http://127.0.0.1:1/v1')
  await first.getByLabel(/API key/).fill('sk-typed-here')
  await first.getByRole('button', { name: 'Connect' }).click()
  await first.getByRole('alert').waitFor()
  await first.getByLabel('Base URL').fill(app.provider)
  assert.equal(await first.getByRole('alert').count(), 0, 'the error goes when the form changes')
  await first.getByRole('button', { name: 'Connect' }).click()
  await first.getByText('Connected. 1 model available.').waitFor()
  await shot(page, 'connect')
  await first.getByRole('button', { name: 'Start with this model' }).click()
  await first.waitFor({ state: 'detached' })
  await until(
    () => composer(page).evaluate(it => it === document.activeElement),
    yes => yes,
    'focus',
  )
  await say(page, 'hello')
  await answers(page).getByText('All right.').waitFor()
  assert.match(await readFile(join(app.home, '.env'), 'utf8'), /='sk-typed-here'/)
  assert.ok(!(await page.content()).includes('sk-typed-here'))
})

test('a page older than its server says so until a person reloads it', async ({ open }) => {
  const page = await open({
    prepare: async page => {
      let opened = 0
      await page.route(/\/api\/events/, async route => {
        opened += 1
        const version = opened === 1 ? '0.1.0' : '0.2.0'
        const hello = { type: 'hello', boot_id: 'b', version }
        const body = `retry: 50\nevent: hello\ndata: ${JSON.stringify(hello)}\n\n`
        await route.fulfill({ contentType: 'text/event-stream', body })
      })
    },
  })
  await page.getByText('miniclaw was updated.').first().waitFor()
  await shot(page, 'stale')
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('a draft')
  await page.unroute(/\/api\/events/)
  await page.getByRole('button', { name: 'Reload' }).click()
  await page.waitForFunction(() => document.querySelector('textarea')?.value === 'a draft')
})
