import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, withMiniclaw } from './fixtures.mjs'
import { shot } from './harness.mjs'

const test = withMiniclaw()

/** Turns autosave off. */
const byHand = page =>
  page.addInitScript(() => localStorage.setItem('mc:owner:autosave', '{"memory":false,"knowledge":false}'))
const inspector = page => page.getByRole('region', { name: 'Inspector', exact: true })
const tabs = page => inspector(page).getByRole('tablist', { name: 'Open files' }).getByRole('tab')
const names = page => tabs(page).evaluateAll(all => all.map(tab => tab.getAttribute('aria-label')))
const text = page => inspector(page).locator('.cm-content')
/** The tab of the folder that is shown. */
const folder = (page, name) => inspector(page).getByRole('tab', { name, exact: true, selected: true })

async function openFile(page, folder, name) {
  await inspector(page).getByRole('tab', { name: folder, exact: true }).click()
  await inspector(page).getByRole('treeitem', { name }).first().click()
  await text(page).waitFor()
}

test('open files have tabs that survive a reload, and keys to move and to close', async ({ app, open }) => {
  await writeFile(join(app.home, 'knowledge/tea.md'), '# Tea\n')
  const page = await open({ prepare: byHand })
  await openFile(page, 'Workspace', /SOUL\.md/)
  await openFile(page, 'Memory', /MEMORY\.md/)
  await openFile(page, 'Knowledge', /tea\.md/)
  assert.deepEqual(await names(page), ['SOUL.md', 'MEMORY.md', 'tea.md'])
  await shot(page, 'editor-tabs')
  assert.deepEqual(await faults(page), [])
  await page.reload()
  await text(page).getByText('Tea').waitFor()
  assert.deepEqual(await names(page), ['SOUL.md', 'MEMORY.md', 'tea.md'])
  await folder(page, 'Knowledge').waitFor()
  await inspector(page)
    .getByRole('treeitem', { name: /tea\.md/, selected: true })
    .waitFor()

  await page.keyboard.press('Alt+BracketRight')
  await inspector(page).getByRole('tab', { name: 'SOUL.md', selected: true }).waitFor()
  await page.keyboard.press('Alt+BracketLeft')
  await inspector(page).getByRole('tab', { name: 'tea.md', selected: true }).waitFor()
  await page.keyboard.press('Alt+w')
  await inspector(page).getByRole('tab', { name: 'MEMORY.md', selected: true }).waitFor()
  await inspector(page).getByRole('tab', { name: 'SOUL.md' }).click({ button: 'middle' })
  assert.deepEqual(await names(page), ['MEMORY.md'])
})

test('a folder that a person chose beside an open file is shown again after a reload', async ({ open }) => {
  const page = await open({ prepare: byHand })
  await openFile(page, 'Memory', /MEMORY\.md/)
  await inspector(page).getByRole('tab', { name: 'Skills', exact: true }).click()
  await page.reload()
  await inspector(page).getByRole('tab', { name: 'MEMORY.md', selected: true }).waitFor()
  await folder(page, 'Skills').waitFor()
  await text(page).waitFor()
})

test('the save button keeps the focus when there is nothing more to save', async ({ app, open }) => {
  const page = await open({ prepare: byHand })
  await openFile(page, 'Memory', /MEMORY\.md/)
  await text(page).click()
  await page.keyboard.type('Tea at four. ')
  const save = inspector(page).getByRole('button', { name: 'Save', exact: true })
  await save.focus()
  await page.keyboard.press('Enter')
  await inspector(page)
    .getByText(/^Saved \d/)
    .waitFor()
  assert.ok(await save.isDisabled())
  assert.ok(await save.evaluate(it => it === document.activeElement))
  assert.deepEqual(await faults(page), [])
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  assert.ok(await save.evaluate(it => it.disabled), 'left, it is out of the order of the keys')
  assert.match(await readFile(join(app.home, 'memory/MEMORY.md'), 'utf8'), /Tea at four\. /)
})

test('a closed tab keeps its unsaved text, and leads back to it', async ({ app, open }) => {
  const path = join(app.home, 'memory/MEMORY.md')
  const page = await open({ prepare: byHand })
  await openFile(page, 'Memory', /MEMORY\.md/)
  await text(page).click()
  await page.keyboard.press('Control+Home')
  await page.keyboard.type('Drinks tea. ')
  const tab = inspector(page).getByRole('tab', { name: 'MEMORY.md (Unsaved)' })
  await tab.hover()
  await tab.locator('[data-close]').click()
  await tab.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Open', exact: true }).click()
  await text(page).getByText('Drinks tea.').waitFor()
  await page.keyboard.press('Control+s')
  await inspector(page)
    .getByText(/^Saved \d\d:\d\d$/)
    .waitFor()
  assert.match(await readFile(path, 'utf8'), /Drinks tea\./)
})
