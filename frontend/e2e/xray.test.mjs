// The requests of an answer: each dialogue, by origin, with links to the files, and the difference from the previous
// one.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withMiniclaw } from './fixtures.mjs'
import { answers, ask, say, settled, shot } from './harness.mjs'

const REPLIES = [
  {
    match: 'read it',
    steps: [
      { tool_call: { id: 'c1', name: 'read_file', arguments: { path: 'knowledge/tea.md' } } },
      { finish: 'tool_calls' },
    ],
  },
  { match: 'read it', steps: [{ text: 'It says green.' }, { finish: 'stop' }] },
]

const test = withMiniclaw({
  replies: REPLIES,
  prepare: async app => {
    await writeFile(join(app.home, 'knowledge/tea.md'), 'green\n')
    await writeFile(join(app.home, 'workspace/SOUL.md'), 'Be kind.\nBe short.\n')
  },
})

async function xrayOf(page, nth) {
  const answer = answers(page).nth(nth)
  await answer.hover()
  await answer.getByRole('button', { name: 'X-ray of this response' }).click()
  const dialog = page.getByRole('dialog', { name: 'X-ray of this response' })
  await dialog.getByRole('heading', { name: 'Changes since the previous request' }).waitFor()
  return dialog
}

test('each request of an answer shows as it was sent, and each difference has its cause', async ({
  app,
  open,
}) => {
  const page = await open()
  await say(page, 'read it')
  await answers(page).getByText('It says green.').waitFor()
  await settled(page)
  let dialog = await xrayOf(page, 0)
  await dialog.getByRole('button', { name: 'Round 1' }).click()
  await dialog.getByText('This is the first saved request of this conversation.').waitFor()
  assert.equal(await dialog.getByText('Tool calls and results').count(), 0)
  await dialog.getByRole('button', { name: 'Round 2' }).click()
  await dialog.getByText('Continues the previous request').waitFor()
  await dialog.getByText('Tool calls and results').first().click()
  await dialog.getByText('"tool_call_id": "c1"').waitFor()
  await shot(page, 'xray-answer')
  await page.keyboard.press('Escape')

  await writeFile(join(app.home, 'workspace/SOUL.md'), 'Be kind.\nBe brief.\n')
  await page.getByRole('region', { name: 'Inspector' }).getByRole('tab', { name: 'Workspace' }).click()
  await say(page, 'hello')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  dialog = await xrayOf(page, 1)
  const change = dialog.locator('details', { hasText: 'workspace/SOUL.md' }).last()
  await change.getByText('changed', { exact: true }).waitFor()
  await change.getByText('by another program').waitFor()
  await change.locator('summary').click({ position: { x: 20, y: 8 } })
  await change.getByText('Be brief.').waitFor()
  await shot(page, 'xray-difference')
  await dialog.getByRole('link', { name: 'workspace/SOUL.md:2' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page
    .getByRole('region', { name: 'Inspector' })
    .locator('.cm-passage')
    .getByText('Be brief.')
    .waitFor()
})

test('passages from memory show on the answer after a reload', async ({ app, open }) => {
  await writeFile(join(app.home, 'memory/birds.md'), '# Birds\n\nPenguins live on ice.\n')
  await ask(app, '/api/config/rag-mode', {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json' },
    body: '{"enabled":true}',
  })
  const page = await open()
  await say(page, 'Where do penguins live?')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  await page.reload()
  const card = answers(page).locator('details', { hasText: 'passage retrieved' }).first()
  await card.locator('summary').first().click()
  await card.getByText('Penguins live on ice.').first().waitFor()
  await shot(page, 'retrieved-after-reload')
  const dialog = await xrayOf(page, 0)
  await dialog.getByText('Retrieved memory').click()
  await dialog.getByRole('button', { name: /^memory\/birds\.md:/ }).click()
  await page.getByRole('region', { name: 'Inspector' }).locator('.cm-passage').first().waitFor()
})
