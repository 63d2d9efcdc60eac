import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, withMiniclaw } from './fixtures.mjs'
import { shot } from './harness.mjs'

const test = withMiniclaw()

/** Turns autosave off. */
const byHand = page =>
  page.addInitScript(() => localStorage.setItem('mc:owner:autosave', '{"memory":false,"knowledge":false}'))
const inspector = page => page.getByRole('region', { name: 'Inspector', exact: true })
const text = page => inspector(page).locator('.cm-content')

async function openFile(page, folder, name) {
  await inspector(page).getByRole('tab', { name: folder, exact: true }).click()
  await inspector(page).getByRole('treeitem', { name }).first().click()
  await text(page).waitFor()
}

test('a Markdown file is previewed beside its text, and the choice survives a reload', async ({
  app,
  open,
}) => {
  await writeFile(
    join(app.home, 'knowledge/tea.md'),
    '---\nkind: drink\n---\n# Green tea\n\n- hot\n- fresh\n',
  )
  const page = await open({ prepare: byHand })
  await openFile(page, 'Knowledge', /tea\.md/)
  await inspector(page).getByRole('button', { name: 'Show text and preview' }).click()
  const preview = inspector(page).getByRole('region', { name: 'Preview of knowledge/tea.md' })
  await preview.getByRole('heading', { name: 'Green tea' }).waitFor()
  await text(page).click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('- sweet')
  await preview.getByRole('listitem').filter({ hasText: 'sweet' }).waitFor()
  await shot(page, 'editor-preview')
  assert.deepEqual(await faults(page), [])
  await page.keyboard.press('Control+s')
  await inspector(page)
    .getByText(/^Saved \d\d:\d\d$/)
    .waitFor()
  await page.reload()
  await preview.getByRole('heading', { name: 'Green tea' }).waitFor()
  await inspector(page).getByRole('button', { name: 'Show preview' }).click()
  await text(page).waitFor({ state: 'detached' })
  await inspector(page).getByRole('button', { name: 'Show preview' }).click()
  await text(page).waitFor()
})
