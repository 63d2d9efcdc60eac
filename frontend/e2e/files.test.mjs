import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { answers, openPage, say, shot, startBrowser, startMiniclaw } from './harness.mjs'

let app
let browser
before(async () => {
  app = await startMiniclaw()
  browser = await startBrowser()
})
after(async () => {
  await browser?.close()
  await app?.stop()
})

const inspector = page => page.getByRole('region', { name: 'Inspector' })
const text = page => inspector(page).locator('.cm-content')

async function openFile(page, tab, name) {
  await inspector(page).getByRole('tab', { name: tab }).click()
  await inspector(page).getByRole('button', { name }).first().click()
  await text(page).waitFor()
}

async function typeAtStart(page, words) {
  await text(page).click()
  await page.keyboard.press('Control+Home')
  await page.keyboard.type(words)
}

test('what is saved in SOUL.md is in the next request to the model', async () => {
  const { page, close } = await openPage(browser, app)
  await openFile(page, 'Workspace', /SOUL\.md/)
  await typeAtStart(page, 'Always answer in verse. ')
  await inspector(page).getByText('Unsaved').first().waitFor()
  await page.keyboard.press('Control+s')
  await inspector(page)
    .getByText(/^Saved \d\d:\d\d$/)
    .waitFor()
  await shot(page, 'editor')
  await say(page, 'who are you')
  await answers(page).getByText('All right.').waitFor()
  const bodies = (await app.requests()).map(request => JSON.stringify(request))
  assert.ok(
    bodies.some(body => body.includes('who are you') && body.includes('Always answer in verse.')),
    'no request held the new text',
  )
  await close()
})

test('a file that changes on disk under typed text raises the question, and mine can be kept', async () => {
  const path = join(app.home, 'memory/MEMORY.md')
  const { page, close } = await openPage(browser, app)
  await openFile(page, 'Memory', /MEMORY\.md/)
  await typeAtStart(page, 'Mine. ')
  await writeFile(path, `Theirs.\n${await readFile(path, 'utf8')}`)
  await inspector(page).getByText('changed on disk').waitFor()
  await page.keyboard.press('Control+s')
  assert.match(await readFile(path, 'utf8'), /^Theirs\./)
  await inspector(page).getByRole('button', { name: 'Compare', exact: true }).click()
  await inspector(page).locator('.cm-deletedChunk').first().getByText('Theirs.').waitFor()
  await shot(page, 'conflict')
  await inspector(page).getByRole('button', { name: 'Keep mine' }).click()
  await inspector(page)
    .getByText(/^Saved \d\d:\d\d$/)
    .waitFor()
  assert.match(await readFile(path, 'utf8'), /^Mine\./)
  await close()
})

test('text that nobody typed in follows the disk', async () => {
  const path = join(app.home, 'memory/USER.md')
  await writeFile(path, '# User\n\nBefore.\n')
  const { page, close } = await openPage(browser, app)
  await openFile(page, 'Memory', /USER\.md/)
  await text(page).getByText('Before.').waitFor()
  await writeFile(path, '# User\n\nAfterwards.\n')
  await text(page).getByText('Afterwards.').waitFor()
  assert.equal(await inspector(page).getByText('changed on disk').count(), 0)
  await close()
})

test('what would be saved is shown against what is there, before it is saved', async () => {
  const path = join(app.home, 'memory/USER.md')
  await writeFile(path, '# User\n\nLikes tea.\n')
  const { page, close } = await openPage(browser, app)
  await openFile(page, 'Memory', /USER\.md/)
  await typeAtStart(page, 'Draft. ')
  await inspector(page).getByRole('button', { name: 'Show what would change' }).click()
  await inspector(page).locator('.cm-deletedChunk').first().getByText('# User').waitFor()
  await shot(page, 'diff-before-save')
  assert.equal(await readFile(path, 'utf8'), '# User\n\nLikes tea.\n')
  await page.keyboard.press('Alt+d')
  await inspector(page).locator('.cm-deletedChunk').first().waitFor({ state: 'detached' })
  await inspector(page).getByRole('button', { name: 'Save', exact: true }).click()
  await inspector(page)
    .getByText(/^Saved \d\d:\d\d$/)
    .waitFor()
  assert.match(await readFile(path, 'utf8'), /^Draft\. # User/)
  await close()
})

test('a new file is made once, and a second of its name is refused', async () => {
  const { page, close } = await openPage(browser, app)
  await inspector(page).getByRole('tab', { name: 'Knowledge' }).click()
  for (const expected of ['made', 'refused']) {
    await inspector(page).getByRole('button', { name: 'New file' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox').fill('plans/autumn')
    await dialog.getByRole('button', { name: 'Create' }).click()
    if (expected === 'made') {
      await dialog.waitFor({ state: 'detached' })
      assert.equal(await readFile(join(app.home, 'knowledge/plans/autumn.md'), 'utf8'), '')
    } else await dialog.getByRole('alert').waitFor()
  }
  await close()
})
