// The same hostile text in the places a conversation does not lead to: a question to a person, an error, a search, an archive.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startCanary } from './canary.mjs'
import { answers, ask, openPage, say, settled, startBrowser, startMiniclaw, until } from './harness.mjs'

const canary = await startCanary()
const { url: C, hostile: HOSTILE, harmless } = canary
const made = [
  { id: 'c1', name: 'terminal', arguments: { command: `echo '${HOSTILE}'` } },
  { id: 'c2', name: 'create_file', arguments: { path: 'knowledge/made.md', content: HOSTILE } },
  { id: 'c3', name: 'fetch_url', arguments: { url: `${C}/asked?<img src="${C}/address">` } },
]
const REPLIES = [
  {
    match: 'may you',
    steps: [...made.map(tool_call => ({ tool_call })), { finish: 'tool_calls' }],
  },
  { match: 'may you', steps: [{ text: 'So not.' }, { finish: 'stop' }] },
  {
    match: 'break',
    steps: [{ status: 400 }, { bytes: JSON.stringify({ error: { message: HOSTILE } }) }],
  },
]

let app
let browser
before(async () => {
  app = await startMiniclaw(REPLIES, {}, 'find_local_models: false\n')
  await writeFile(join(app.home, 'knowledge/hostile.md'), `# Penguins ${HOSTILE}\n\npenguins ${HOSTILE}\n`)
  await writeFile(join(app.home, 'sessions/broken.json'), HOSTILE)
  browser = await startBrowser()
})
after(async () => {
  await browser?.close()
  await app?.stop()
  canary.close()
})

test('a question to a person, and what became of it', async () => {
  const { page, close } = await openPage(browser, app)
  await say(page, 'may you')
  const cards = page.getByRole('group', { name: /miniclaw wants/ })
  await until(
    () => cards.count(),
    count => count === 3,
    'three cards',
  )
  await harmless(page)
  for (let left = 3; left > 0; left--) {
    await cards.first().getByRole('button', { name: 'Deny', exact: true }).click()
    await until(
      () => cards.count(),
      count => count === left - 1,
      'the card to go',
    )
  }
  await answers(page).getByText('So not.').waitFor()
  await harmless(page)
  await page.reload()
  await answers(page).getByText('So not.').waitFor()
  await harmless(page)
  await close()
})

test('an error of the provider', async () => {
  const { page, close } = await openPage(browser, app)
  await say(page, 'break')
  await answers(page).getByRole('region', { name: 'This did not work' }).waitFor()
  await settled(page)
  await harmless(page)
  await page.reload()
  await answers(page).getByRole('region', { name: 'This did not work' }).waitFor()
  await harmless(page)
  await close()
})

test('the passages of a search', async () => {
  const { page, close } = await openPage(browser, app, {
    path: '/playground?query=penguins&folder=knowledge',
    ready: page => page.getByRole('searchbox', { name: 'Question' }),
  })
  await page.locator('[data-row]').first().waitFor()
  await harmless(page)
  await close()
})

test('a file that was moved aside, the sessions and the prompt', async () => {
  await ask(app, '/api/sessions')
  for (const path of [
    '/',
    '/?file=sessions/broken.json',
    `/s/${encodeURIComponent(`<img src="${C}/id">`)}`,
  ]) {
    const { page, close } = await openPage(browser, app, { path })
    for (const tab of await page.getByRole('tab').all()) {
      if (await tab.isVisible()) await tab.click({ timeout: 2_000 }).catch(() => undefined)
    }
    await harmless(page)
    await close()
  }
})
