// The same hostile text outside a conversation's answer: an approval, an error, a search, compacted messages.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withCanary } from './fixtures.mjs'
import { answers, ask, say, settled } from './harness.mjs'

/** The name of a file that a command would create; its content and the command's output are hostile too. */
const NAME = '<img src=x onerror=owned=1>.html'
const written = text => `cat > '${NAME}' <<'END'\n${text}\nEND\ncat '${NAME}'`
const callsOf = ({ url: C, hostile: HOSTILE }) => [
  { id: 'c1', name: 'terminal', arguments: { command: written(HOSTILE) } },
  { id: 'c2', name: 'create_file', arguments: { path: 'knowledge/made.md', content: HOSTILE } },
  { id: 'c3', name: 'fetch_url', arguments: { url: `${C}/asked?<img src="${C}/address">` } },
]
const repliesOf = canary => [
  {
    match: 'may you',
    steps: [...callsOf(canary).map(tool_call => ({ tool_call })), { finish: 'tool_calls' }],
  },
  { match: 'may you', steps: [{ text: 'So not.' }, { finish: 'stop' }] },
  {
    match: 'break',
    steps: [{ status: 400 }, { bytes: JSON.stringify({ error: { message: canary.hostile } }) }],
  },
]

const test = withCanary(canary => ({
  replies: repliesOf(canary),
  config: 'find_local_models: false\n',
  prepare: async app => {
    const penguins = `# Penguins ${canary.hostile}\n\npenguins ${canary.hostile}\n`
    await writeFile(join(app.home, 'knowledge/hostile.md'), penguins)
    await writeFile(join(app.home, 'sessions/broken.json'), canary.hostile)
  },
}))

test('hostile text is harmless in an approval and its outcome', async ({ canary: { harmless }, open }) => {
  const page = await open()
  await say(page, 'may you')
  // What the command would change is shown only where commands can run in an overlay.
  for (const title of ['Run a command', 'Create knowledge/made.md', 'Fetch a web page']) {
    const card = page.getByRole('group', { name: `Approval needed: ${title}` })
    await card.waitFor()
    if (await card.getByRole('region', { name: 'What it would change' }).count()) {
      const file = card.getByRole('listitem').filter({ hasText: NAME })
      await file.locator('summary').click()
      await file.locator('.cm-content').waitFor()
    }
    await harmless(page)
    await card.getByRole('button', { name: /^(Deny|Discard)\d?$/ }).click()
    await card.waitFor({ state: 'detached' })
  }
  await answers(page).getByText('So not.').waitFor()
  await harmless(page)
  await page.reload()
  await answers(page).getByText('So not.').waitFor()
  await harmless(page)
})

test('hostile text is harmless in an error of the provider', async ({ canary: { harmless }, open }) => {
  const page = await open()
  await say(page, 'break')
  await answers(page).getByRole('region', { name: 'Something went wrong' }).waitFor()
  await settled(page)
  await harmless(page)
  await page.reload()
  await answers(page).getByRole('region', { name: 'Something went wrong' }).waitFor()
  await harmless(page)
})

test('hostile text is harmless in the passages of a search', async ({ canary: { harmless }, open }) => {
  const page = await open({
    path: '/playground?query=penguins&folder=knowledge',
    ready: page => page.getByRole('searchbox', { name: 'Question' }),
  })
  await page.locator('[data-row]').first().waitFor()
  await harmless(page)
})

test('hostile text is harmless in a quarantined file, the sessions and the prompt', async ({
  app,
  canary: { harmless, url: C },
  open,
}) => {
  await ask(app, '/api/sessions')
  for (const path of [
    '/',
    '/?file=sessions/broken.json',
    `/s/${encodeURIComponent(`<img src="${C}/id">`)}`,
  ]) {
    const page = await open({ path })
    for (const tab of await page.getByRole('tab').all()) {
      if (await tab.isVisible()) await tab.click({ timeout: 2_000 }).catch(() => undefined)
    }
    await harmless(page)
  }
})
