// The first run without a model: connecting a provider from the page, and a page older than its server.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withMiniclaw } from './fixtures.mjs'
import { answers, say, shot } from './harness.mjs'

// Empty variables count as unset.
const NO_MODEL = { OPENAI_API_KEY: '', OPENAI_BASE_URL: '', OPENAI_MODEL: '', MINICLAW_LLM: '/none' }
const test = withMiniclaw({ env: NO_MODEL })

test('without a model the page opens the form, checks the key and answers at once', async ({ app, open }) => {
  const page = await open()
  const first = page.getByRole('region', { name: 'No model connected' })
  await first.getByRole('button', { name: 'Use demo model' }).click()
  await first.getByText('make model').waitFor()
  assert.equal(await page.locator('#pane-chat ul button').count(), 3, 'the three starters are there')
  await shot(page, 'first-run')
  await first.getByRole('button', { name: 'Connect a provider' }).click()
  const dialog = page.getByRole('dialog', { name: 'Connect a model' })
  await dialog.getByLabel('Base URL').fill('http://127.0.0.1:1/v1')
  await dialog.getByLabel(/API key/).fill('sk-typed-here')
  await dialog.getByRole('button', { name: 'Test connection' }).click()
  await dialog.getByRole('alert').waitFor()
  await dialog.getByLabel('Base URL').fill(app.provider)
  await dialog.getByRole('button', { name: 'Test connection' }).click()
  await dialog.getByText('Connected. 1 model available.').waitFor()
  await shot(page, 'connect')
  await dialog.getByRole('button', { name: 'Use this model' }).click()
  await dialog.waitFor({ state: 'detached' })
  await first.waitFor({ state: 'detached' })
  await say(page, 'hello')
  await answers(page).getByText('All right.').waitFor()
  assert.match(await readFile(join(app.home, '.env'), 'utf8'), /OPENAI_API_KEY='sk-typed-here'/)
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
