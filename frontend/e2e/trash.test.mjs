// Deleted conversations and files: listed, restored, or deleted permanently.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { ask, shot } from './harness.mjs'

const test = withMiniclaw()
const at = (app, path) => join(app.home, path)
const dialog = page => page.getByRole('dialog', { name: /^(Trash and recovery|回收站与恢复)$/ })
const part = (page, name) => dialog(page).getByRole('region', { name })

async function put(app, id, title) {
  const messages = [{ role: 'user', content: 'hello', id: 'm0', work_id: 'w0' }]
  await writeFile(
    at(app, `sessions/${id}.json`),
    JSON.stringify({ title, created_at: 1, updated_at: 2, messages }),
  )
  await ask(app, `/api/sessions/${id}`, { method: 'DELETE' })
}
async function putFile(app, path) {
  await writeFile(at(app, path), 'of no use\n')
  await ask(app, `/api/files?path=${path}`, { method: 'DELETE' })
}
async function openTrash(page) {
  await page.getByRole('button', { name: /^(More actions|更多操作)$/ }).click()
  await page.getByRole('menuitem', { name: /^(Trash and recovery|回收站与恢复)$/ }).click()
}

test('a deleted file is restored, and another is deleted permanently after a confirmation', async ({
  app,
  open,
}) => {
  await putFile(app, 'memory/tea.md')
  await putFile(app, 'knowledge/old.md')
  const page = await open()
  await openTrash(page)
  const files = part(page, 'Deleted files')
  const row = name => files.getByRole('listitem').filter({ hasText: name })
  await files.getByText('The last 200 files are kept. Older files are removed automatically.').waitFor()
  await row('memory/tea.md')
    .getByText(/^deleted .+/)
    .waitFor()
  await row('memory/tea.md').getByRole('button', { name: 'Restore' }).click()
  await row('memory/tea.md').waitFor({ state: 'detached' })
  assert.ok(existsSync(at(app, 'memory/tea.md')))
  await row('knowledge/old.md').getByRole('button', { name: 'Delete knowledge/old.md permanently' }).click()
  await files.getByRole('button', { name: 'Cancel' }).click()
  await row('knowledge/old.md').getByRole('button', { name: 'Delete knowledge/old.md permanently' }).click()
  await files.getByText('This can’t be undone.').waitFor()
  await files.getByRole('button', { name: 'Delete permanently', exact: true }).click()
  await files.getByText('No deleted files.').waitFor()
  assert.deepEqual((await ask(app, '/api/files/deleted')).files, [])
})

test('a deleted conversation is deleted permanently, and the palette opens the trash', async ({
  app,
  open,
}) => {
  await put(app, 'gone', 'An old plan')
  const page = await open()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').waitFor()
  await page.keyboard.type('trash')
  await page.keyboard.press('Enter')
  const sessions = part(page, 'Deleted conversations')
  await sessions.getByText('Kept until you delete them permanently.').waitFor()
  await sessions.getByRole('button', { name: 'Delete An old plan permanently' }).click()
  await sessions.getByRole('button', { name: 'Delete permanently', exact: true }).click()
  await sessions.getByText('No deleted conversations.').waitFor()
  assert.ok(!existsSync(at(app, 'sessions/archive/deleted/gone.json')))
})

for (const { look, small, given } of LOOKS) {
  test(`the trash, ${look}`, async ({ app, open }) => {
    await put(app, `seen-${look}`, '上周的计划 and a title that is rather long for such a narrow place')
    await putFile(app, 'memory/a-file-with-a-name-that-is-long.md')
    await putFile(app, 'workspace/b.md')
    const page = await open(given)
    if (small) await page.getByRole('button', { name: /^(Conversations|对话列表)$/ }).click()
    await openTrash(page)
    await dialog(page).getByText('workspace/b.md').first().waitFor()
    await dialog(page).getByRole('button', { name: /b.md/ }).first().click()
    await shot(page, `trash-${look}`)
    assert.deepEqual(await faults(page), [])
  })
}
