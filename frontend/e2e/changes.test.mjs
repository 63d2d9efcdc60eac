// What a conversation and each of its responses changed in files.
import assert from 'node:assert/strict'
import { access, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, MOBILE, say, settled, shot } from './harness.mjs'

const call = (id, name, given) => ({ tool_call: { id, name, arguments: given } })
const reply = (match, ...calls) => ({ match, steps: [...calls, { finish: 'tool_calls' }] })
const create = (id, path, content) => call(id, 'create_file', { path, content })
const edit = (id, path, search, replace) => call(id, 'edit_file', { path, edits: [{ search, replace }] })
const remove = (id, path) => call(id, 'delete_file', { path })

const LINES = Array.from({ length: 60 }, (_, n) => `line ${n + 1}\n`).join('')
/** A red square of 16 pixels. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR42mM4KK9DEmIY1TCqYfhqAAAQJQwQLT3AUAAAAABJRU5ErkJggg==',
  'base64',
)

const RUNS = [1, 2, 3, 4, 5, 6, 7, 8, 9]
const replies = RUNS.flatMap(n => {
  const at = name => `knowledge/run${n}/${name}`
  return [
    reply(
      `first ${n} `,
      edit(`e${n}`, at('notes.md'), 'line 5\n', 'line five\nand a half\n'),
      create(`n${n}`, at('说明 一.md'), '# 你好\n\n世界\n'),
      remove(`p${n}`, at('square.png')),
      remove(`b${n}`, at('data.bin')),
    ),
    reply(`second ${n} `, edit(`f${n}`, at('notes.md'), 'line 50\n', 'line fifty\n')),
  ]
})

const test = withMiniclaw({
  replies,
  prepare: async app => {
    for (const n of RUNS) {
      const folder = join(app.home, `knowledge/run${n}`)
      await mkdir(folder, { recursive: true })
      await writeFile(join(folder, 'notes.md'), LINES)
      await writeFile(join(folder, 'square.png'), PNG)
      await writeFile(join(folder, 'data.bin'), Buffer.from([0, 255, 1, 254]))
    }
  },
})

const isThere = path =>
  access(path).then(
    () => true,
    () => false,
  )

async function askBoth(page, n) {
  for (const which of ['first', 'second']) {
    const known = await answers(page).count()
    await say(page, `Do the ${which} ${n} thing`)
    await expect(answers(page)).toHaveCount(known + 1)
    await answers(page).last().getByRole('button', { name: 'View changes' }).waitFor()
    await settled(page)
  }
}
const dialogOf = page => page.getByRole('dialog', { name: 'Changes' })
const row = (dialog, name) => dialog.getByRole('treeitem', { name, exact: false })

test('the changes of a response and of the conversation are compared', async ({ open }) => {
  const page = await open()
  await askBoth(page, 1)
  await answers(page).last().getByRole('button', { name: 'View changes' }).click()
  const dialog = dialogOf(page)
  const tree = dialog.getByRole('tree', { name: 'Changed files' })
  await row(tree, 'notes.md').waitFor()
  await expect(tree.getByRole('treeitem')).toHaveCount(3)
  await expect(dialog.getByText('line fifty')).toBeVisible()
  await expect(dialog.getByText('line five', { exact: true })).toHaveCount(0)

  await dialog.getByRole('button', { name: 'Whole conversation' }).click()
  await expect(tree.getByRole('treeitem')).toHaveCount(6)
  await row(tree, 'notes.md').click()
  await expect(dialog.locator('.cm-line', { hasText: 'line five' })).toBeVisible()
  await expect(dialog.getByText(/unchanged lines/).first()).toBeVisible()
  await expect(row(tree, 'notes.md')).toContainText('3 lines added, 2 removed')
  assert.deepEqual(await faults(page), [])

  await dialog.getByRole('button', { name: 'All lines' }).click()
  await expect(dialog.locator('.cm-line', { hasText: 'line 20' })).toBeVisible()
  const fifty = dialog.locator('.cm-line', { hasText: 'line fifty' })
  await expect(fifty).not.toBeInViewport()
  await dialog.locator('.cm-content').focus()
  await page.keyboard.press('F7')
  await page.keyboard.press('F7')
  await expect(fifty).toBeInViewport()
  await dialog.getByRole('button', { name: 'All lines' }).click()

  await dialog.getByRole('button', { name: 'Side by side' }).click()
  await expect(dialog.locator('.cm-mergeView .cm-editor')).toHaveCount(2)
  await expect(dialog.locator('.cm-merge-a .cm-line', { hasText: /^line 5$/ })).toBeVisible()
  await expect(dialog.locator('.cm-merge-b .cm-line', { hasText: 'line five' })).toBeVisible()
  assert.deepEqual(await faults(page), [])

  await dialog.getByRole('searchbox', { name: 'Filter files' }).fill('SQUARE')
  await expect(tree.getByRole('treeitem')).toHaveCount(3)
  await dialog.getByRole('searchbox', { name: 'Filter files' }).fill('nothing like it')
  await dialog.getByText('No changed file matches “nothing like it”.').waitFor()
})

test('pictures are shown and binary files named by their sizes', async ({ open }) => {
  const page = await open()
  await askBoth(page, 2)
  await answers(page).nth(-2).getByRole('button', { name: 'View changes' }).click()
  const dialog = dialogOf(page)
  await row(dialog, 'square.png').click()
  const picture = dialog.getByRole('img', { name: 'knowledge/run2/square.png before the change' })
  await expect(picture).toHaveJSProperty('naturalWidth', 16)
  await dialog.getByText('16 × 16 px').waitFor()
  await dialog.getByText('The file was deleted.').waitFor()
  await row(dialog, 'data.bin').click()
  await dialog.getByText('Not a text file, so its content is not compared.').waitFor()
  const download = page.waitForEvent('download')
  await dialog.getByRole('link', { name: 'Download' }).click()
  const saved = await (await download).path()
  assert.deepEqual([...(await readFile(saved))], [0, 255, 1, 254])
})

test('the tree of changed files is moved through by keys', async ({ open }) => {
  const page = await open()
  await askBoth(page, 3)
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('changes')
  await page.getByRole('option', { name: 'Changes', exact: true }).click()
  const dialog = dialogOf(page)
  const tree = dialog.getByRole('tree')
  await row(tree, 'data.bin').waitFor()
  await dialog.getByRole('searchbox').focus()
  await page.keyboard.press('Tab')
  await expect(row(tree, 'data.bin')).toBeFocused()
  await page.keyboard.press('ArrowDown')
  await expect(row(tree, 'notes.md')).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(dialog.getByRole('article', { name: 'knowledge/run3/notes.md' })).toBeVisible()
  await page.keyboard.press('Home')
  await page.keyboard.press('ArrowLeft')
  await expect(tree.getByRole('treeitem')).toHaveCount(1)
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('s')
  await expect(row(tree, 'square.png')).toBeFocused()
})

test('a file is undone alone, unless it was changed since', async ({ app, open }) => {
  const page = await open()
  await askBoth(page, 4)
  await answers(page).nth(-2).getByRole('button', { name: 'View changes' }).click()
  const dialog = dialogOf(page)
  await row(dialog, 'notes.md').click()
  await dialog.getByText('The file was changed after this.').waitFor()
  await shot(page, 'changes-since')
  await expect(dialog.getByRole('button', { name: 'Undo this file' })).toBeDisabled()
  await row(dialog, '说明 一.md').click()
  await dialog.getByRole('button', { name: 'Undo this file' }).click()
  await expect(row(dialog, '说明 一.md')).toHaveCount(0)
  assert.ok(!(await isThere(join(app.home, 'knowledge/run4/说明 一.md'))))
  await dialog.getByRole('button', { name: 'Whole conversation' }).click()
  await row(dialog, 'notes.md').click()
  await dialog.getByRole('button', { name: 'Undo this file' }).click()
  await expect(row(dialog, 'notes.md')).toHaveCount(0)
  assert.equal(await readFile(join(app.home, 'knowledge/run4/notes.md'), 'utf8'), LINES)
})

test('everything after a response is undone, and stops at a change of a person', async ({ app, open }) => {
  const page = await open()
  const notes = join(app.home, 'knowledge/run5/notes.md')
  await askBoth(page, 5)
  const toThisPoint = async () => {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('changes')
    await page.getByRole('option', { name: 'Changes', exact: true }).click()
    await dialogOf(page).getByRole('button', { name: 'Actions for “Do the first 5 thing”' }).click()
    await page.getByRole('menuitem', { name: 'Undo everything after it' }).click()
    return page.getByRole('dialog', { name: 'Undo to this point' })
  }
  const kept = await readFile(notes, 'utf8')
  await writeFile(notes, `${kept}mine\n`)
  const refused = await toThisPoint()
  await refused
    .getByText('1 file was changed since. The undo will stop there: knowledge/run5/notes.md')
    .waitFor()
  await shot(page, 'changes-undo-later')
  await refused.getByRole('button', { name: 'Undo 1 change' }).click()
  await refused.getByRole('alert').getByText('Stopped at knowledge/run5/notes.md').waitFor()
  assert.equal(await readFile(notes, 'utf8'), `${kept}mine\n`)
  await page.keyboard.press('Escape')

  await writeFile(notes, kept)
  const dialog = await toThisPoint()
  await dialog.getByRole('button', { name: 'Undo 1 change' }).click()
  await dialogOf(page).getByRole('tree').waitFor()
  const now = await readFile(notes, 'utf8')
  assert.ok(now.includes('line five') && !now.includes('line fifty'), now)
})

test('a thousand changed files stay quick', async ({ open }) => {
  const page = await open()
  await say(page, 'hello')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  const side = { content: 'text', size: 1, hash: 'h', executable: false }
  const files = Array.from({ length: 1000 }, (_, n) => ({
    path: `knowledge/many/${String(n).padStart(4, '0')}.md`,
    ...{ kind: 'created', before: null, after: side, added: 1, removed: 0, works: [] },
    ...{ changed_since: false, deleted_since: false, undo: 'possible' },
  }))
  await page.route('**/api/sessions/*/changes', route =>
    route.fulfill({ json: { works: [], files, problems: [], commits: [] } }),
  )
  await page.route('**/api/sessions/*/changes/content?*', route => route.fulfill({ body: 'x\n' }))
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('changes')
  await page.getByRole('option', { name: 'Changes', exact: true }).click()
  const tree = dialogOf(page).getByRole('tree')
  await row(tree, '0000.md').focus()
  assert.ok((await tree.getByRole('treeitem').count()) < 100)
  await page.keyboard.press('End')
  await expect(row(tree, '0999.md')).toBeFocused()
  await expect(row(tree, '0999.md')).toHaveAttribute('aria-setsize', '1000')
})

const WORDS = {
  en: { button: 'View changes', back: 'Back to the list', all: 'Whole conversation', sides: 'Side by side' },
  zh: { button: '更改详情', back: '返回列表', all: '整个对话', sides: '并排' },
}

for (const [i, { look, small, given }] of LOOKS.entries()) {
  test(`the changes: ${look}`, async ({ open }) => {
    const words = WORDS[given.lang ?? 'en']
    const page = await open(small ? { ...MOBILE, ...given } : given)
    const field = page.locator('[data-composer]')
    const n = i + 6
    for (const which of ['first', 'second']) {
      await field.fill(`Do the ${which} ${n} thing`)
      await field.press(small ? 'Control+Enter' : 'Enter')
      await page
        .getByRole('button', { name: words.button })
        .nth(which === 'first' ? 0 : 1)
        .waitFor()
      // The next message would interrupt the answer, which has changed only some of the files by then.
      await settled(page)
    }
    await page.getByRole('button', { name: words.button }).last().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: words.all }).click()
    const notes = row(dialog, 'notes.md')
    await notes.waitFor()
    assert.deepEqual(await faults(page), [])
    await shot(page, `changes-list-${look}`)
    await notes.click()
    await dialog.locator('.cm-line', { hasText: 'line five' }).first().waitFor()
    if (!small) {
      await dialog.getByRole('button', { name: words.sides }).click()
      await dialog.locator('.cm-merge-b .cm-line', { hasText: 'line five' }).first().waitFor()
    }
    assert.deepEqual(await faults(page), [])
    await shot(page, `changes-${look}`)
    if (small) {
      await dialog.getByRole('button', { name: words.back }).click()
      await expect(notes).toBeFocused()
    }
    await row(dialog, 'square.png').click()
    await dialog.getByRole('img').waitFor()
    await shot(page, `changes-picture-${look}`)
  })
}
