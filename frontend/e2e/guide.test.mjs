// What the editor says of a project's AGENTS.md: whether and when it is sent.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { withMiniclaw } from './fixtures.mjs'
import { ask, shot } from './harness.mjs'

const test = withMiniclaw()

const inspector = page => page.locator('#pane-right')
const line = page => inspector(page).locator('[data-budget]')

test('a guide of a project is sent from when it is trusted, and the editor says so', async ({
  app,
  open,
}) => {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'Guided' })
  const { id, path } = (await ask(app, '/api/projects', { method: 'POST', headers, body })).data
  const folder = join(app.home, 'workspaces', path)
  await mkdir(join(folder, 'src'))
  const page = await open()
  for (const [file, words] of [
    ['AGENTS.md', 'in every request of this project’s conversations'],
    ['src/AGENTS.md', 'in requests while a conversation works in this folder'],
  ]) {
    await writeFile(join(folder, file), 'Use tabs.\n')
    await page.goto(`${app.url}/p/${id}/f/${file}`)
    await expect(line(page)).toContainText('Not sent until you trust this version')
    await shot(page, `guide-untrusted-${file.replace('/', '-')}`)
    await inspector(page).getByRole('button', { name: 'Trust this version' }).click()
    await expect(line(page)).toContainText(words)
    await shot(page, `guide-trusted-${file.replace('/', '-')}`)
    await writeFile(join(folder, file), 'Use spaces.\n')
    await page.reload()
    await expect(line(page)).toContainText('Not sent until you trust this version')
  }
  await writeFile(join(folder, 'notes.md'), 'Tea\n')
  await page.goto(`${app.url}/p/${id}/f/notes.md`)
  await expect(line(page)).toContainText('Not sent until read')
})
