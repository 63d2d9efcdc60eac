// The tab with the files of a project: of the conversation, of a file that is opened, or of a project that a person chooses.
import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { ask, MOBILE, shot, until } from './harness.mjs'

const test = withMiniclaw()

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const inspector = page => page.locator('#pane-right')
const row = (page, name) => inspector(page).getByRole('treeitem', { name })
const text = page => inspector(page).locator('.cm-content')
const send = (app, path, method, body = {}) =>
  ask(app, path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

/** A project with these files: its id and a function that gives the place of a path on the disk. */
async function project(app, name, files = {}) {
  const { id, path } = (await send(app, '/api/projects', 'POST', { name })).data
  const at = file => join(app.home, 'workspaces', path, file)
  for (const [file, content] of Object.entries(files)) {
    await mkdir(join(at(file), '..'), { recursive: true })
    await writeFile(at(file), content)
  }
  return { id, at }
}

const menu = async (page, path, item) => {
  await inspector(page)
    .getByRole('button', { name: `Actions for ${path}`, exact: true })
    .click()
  await page.getByRole('menuitem', { name: item, exact: true }).click()
}

test('the tab follows the conversation, and shows another project by choice', async ({ app, open }) => {
  await project(app, 'First', { 'one.txt': '1' })
  const { id } = await project(app, 'Second', { 'two.txt': '2' })
  const session = await send(app, '/api/sessions', 'POST', { project_id: id, title: 'In the second' })
  const page = await open()
  await inspector(page).getByRole('tab', { name: 'Project', exact: true }).click()
  await inspector(page).getByText('Choose a project to see its files.').waitFor()
  assert.deepEqual(await faults(page), [])
  await page.goto(`${app.url}/s/${session.id}`)
  await row(page, /^two\.txt/).waitFor()
  await inspector(page).getByRole('button', { name: 'Project: Second' }).click()
  await page.getByRole('option', { name: 'First' }).click()
  await row(page, /^one\.txt/).waitFor()
  await page.reload()
  await row(page, /^one\.txt/).waitFor()
  // Another conversation is elsewhere.
  await page.locator('#pane-left').getByRole('button', { name: 'New chat', exact: true }).click()
  await inspector(page).getByText('Choose a project to see its files.').waitFor()
})

test('a file is edited and saved, and a conflict is asked about', async ({ app, open }) => {
  const { id, at } = await project(app, 'Edited', { 'src/main.rs': 'fn main() {}\n' })
  const page = await open({ path: `/p/${id}/f/src/main.rs?line=1` })
  await text(page).getByText('fn main').waitFor()
  await expect(row(page, /^main\.rs/)).toHaveAttribute('aria-selected', 'true')
  await inspector(page).getByText('Edited/src/main.rs', { exact: true }).waitFor()
  await text(page).click()
  await page.keyboard.press('Control+Home')
  await page.keyboard.type('// Mine\n')
  await page.keyboard.press('Control+s')
  await inspector(page)
    .getByText(/^Saved \d\d:\d\d$/)
    .waitFor()
  assert.equal(await readFile(at('src/main.rs'), 'utf8'), '// Mine\nfn main() {}\n')
  await page.keyboard.type('// More\n')
  await writeFile(at('src/main.rs'), '// Theirs\n')
  await page.keyboard.press('Control+s')
  await inspector(page).getByText('changed on disk').waitFor()
  await inspector(page).getByRole('button', { name: 'Compare', exact: true }).click()
  await inspector(page).locator('.cm-deletedChunk').first().getByText('Theirs').waitFor()
  await inspector(page).getByRole('button', { name: 'Keep my changes' }).click()
  await until(
    () => readFile(at('src/main.rs'), 'utf8'),
    now => now.startsWith('// Mine\n// More\n'),
    'my text',
  )
  // The address led here; a reload stays.
  await page.reload()
  await text(page).getByText('// More').waitFor()
  await expect(row(page, /^main\.rs/)).toHaveAttribute('aria-selected', 'true')
})

test('an address shows the files of a project', async ({ app, open }) => {
  const { id } = await project(app, 'Addressed', { 'here.txt': '' })
  const page = await open({ path: `/p/${id}` })
  await row(page, /^here\.txt/).waitFor()
  await expect(inspector(page).getByRole('tab', { name: 'Project', exact: true })).toHaveAttribute(
    'aria-selected',
    'true',
  )
})

test('files and folders are created, moved, deleted and restored', async ({ app, open }) => {
  const { id, at } = await project(app, 'Moved', { 'src/a.txt': 'A', 'src/b.bin': Buffer.from([0, 255]) })
  const page = await open({ path: `/p/${id}` })
  const dialog = page.getByRole('dialog')
  await inspector(page).getByRole('button', { name: 'New folder' }).click()
  await dialog.getByRole('textbox').fill('docs/img')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await row(page, /^img/).waitFor()

  await menu(page, 'Moved/docs', 'New file')
  await expect(dialog.getByRole('textbox')).toHaveValue('docs/')
  await dialog.getByRole('textbox').fill('docs/../x')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.getByRole('alert').waitFor()
  await dialog.getByRole('textbox').fill('docs/.env')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await expect(row(page, /^\.env/)).toHaveAttribute('aria-selected', 'true')
  assert.equal(await readFile(at('docs/.env'), 'utf8'), '')

  await row(page, /^src/).click()
  await row(page, /^a\.txt/).click()
  await text(page).getByText('A', { exact: true }).waitFor()
  await menu(page, 'Moved/src', 'Rename')
  await dialog.getByRole('textbox').fill('docs/src')
  await dialog.getByRole('button', { name: 'Rename' }).click()
  await expect(dialog).toHaveCount(0)
  assert.equal(await readFile(at('docs/src/a.txt'), 'utf8'), 'A')
  // The open file moved along, and can still be saved.
  await inspector(page).getByText('Moved/docs/src/a.txt', { exact: true }).waitFor()
  await text(page).click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('B')
  await page.keyboard.press('Control+s')
  await until(
    () => readFile(at('docs/src/a.txt'), 'utf8'),
    now => now === 'AB',
    'the save',
  )

  await menu(page, 'Moved/docs/src/b.bin', 'Delete')
  await page.getByRole('region', { name: 'Deleted Moved/docs/src/b.bin' }).waitFor()
  await expect(row(page, /^b\.bin/)).toHaveCount(0)
  await page.getByRole('button', { name: 'Undo' }).click()
  await row(page, /^b\.bin/).waitFor()

  await menu(page, 'Moved/docs', 'Delete')
  await page.getByRole('region', { name: 'Deleted Moved/docs with its content' }).waitFor()
  await expect(row(page, /^docs/)).toHaveCount(0)
  await expect(text(page)).toHaveCount(0)
  await shot(page, 'project-files-deleted')
  await page
    .getByRole('region', { name: 'Deleted Moved/docs with its content' })
    .getByRole('button', { name: 'Undo' })
    .click()
  await row(page, /^docs/).waitFor()
  assert.equal(await readFile(at('docs/src/a.txt'), 'utf8'), 'AB')
})

test('pictures are shown, other files are downloaded, and ignored ones are marked', async ({ app, open }) => {
  const bytes = Buffer.from([0, 255, 1])
  const { id } = await project(app, 'Looks', {
    'dot.png': PIXEL,
    'data 茶.bin': bytes,
    '.gitignore': '*.log\n',
    'a.log': 'x',
  })
  const page = await open({ path: `/p/${id}` })
  await expect(row(page, /^a\.log/)).toHaveAttribute('aria-description', 'Ignored by git')
  await expect(row(page, /^data 茶\.bin/)).toContainText('3 B')
  await row(page, /^dot\.png/).click()
  const picture = inspector(page).getByRole('img', { name: 'Picture Looks/dot.png' })
  await until(
    () => picture.evaluate(element => element.naturalWidth),
    width => width === 1,
    'the picture',
  )
  await row(page, /^data 茶\.bin/).click()
  await inspector(page).getByText('This file is not text').waitFor()
  assert.deepEqual(await faults(page), [])
  const saving = page.waitForEvent('download')
  await inspector(page).getByRole('button', { name: 'Download' }).click()
  const saved = await saving
  assert.equal(saved.suggestedFilename(), 'data 茶.bin')
  assert.deepEqual(await readFile(await saved.path()), bytes)
})

test('the text of a project is searched, and a line opens', async ({ app, open }) => {
  const lines = Array.from({ length: 90 }, (_, n) => `line ${n + 1}`)
  const { id } = await project(app, 'Searched', {
    'deep/er/notes.md': [...lines, 'A Green. tea', ...lines].join('\n'),
    'other.txt': 'green',
  })
  const page = await open({ path: `/p/${id}` })
  await inspector(page).getByRole('button', { name: 'Find in files' }).click()
  await page.keyboard.type('green. T')
  const found = inspector(page).getByRole('region', { name: 'Find in files' })
  await expect(found.locator('mark')).toHaveText(['Green. t'])
  assert.deepEqual(await faults(page), [])
  await found.getByRole('button').click()
  await text(page).getByText('A Green. tea').waitFor()
  assert.ok(await text(page).getByText('A Green. tea').isVisible())
})

test('files are uploaded into a folder of a project', async ({ app, open }) => {
  const { id, at } = await project(app, 'Filled', { 'in/old.txt': '' })
  const page = await open({ path: `/p/${id}` })
  const chooser = page.waitForEvent('filechooser')
  await menu(page, 'Filled/in', 'Upload files')
  await (await chooser).setFiles({ name: '.rc', mimeType: 'text/plain', buffer: Buffer.from('new') })
  await row(page, /^\.rc/).waitFor()
  assert.equal(await readFile(at('in/.rc'), 'utf8'), 'new')
})

test('files of any kind replace others only on request, and are taken back', async ({ app, open }) => {
  const { id, at } = await project(app, 'Mixed', { 'a.bin': 'old' })
  const page = await open({ path: `/p/${id}` })
  await row(page, /^a\.bin/).waitFor()
  const chooser = page.waitForEvent('filechooser')
  await inspector(page).getByRole('button', { name: 'Upload files' }).click()
  const bytes = Buffer.from([0, 255, 1])
  await (await chooser).setFiles([
    { name: 'a.bin', mimeType: 'application/octet-stream', buffer: bytes },
    { name: 'b.bin', mimeType: 'application/octet-stream', buffer: bytes },
  ])
  await row(page, /^b\.bin/).waitFor()
  assert.deepEqual(await readFile(at('b.bin')), bytes)
  assert.equal(await readFile(at('a.bin'), 'utf8'), 'old')
  await page.getByRole('button', { name: 'Replace', exact: true }).click()
  await page.getByRole('button', { name: 'Undo', exact: true }).waitFor()
  assert.deepEqual(await readFile(at('a.bin')), bytes)
  await page.getByRole('button', { name: 'Undo', exact: true }).click()
  await expect.poll(() => readFile(at('a.bin'), 'utf8').catch(() => '')).toBe('old')
})

test('with 50,000 files in a folder, and many folders, only rows in sight are drawn', async ({
  app,
  open,
}) => {
  const { at } = await project(app, 'Large')
  await mkdir(at('many'))
  for (let n = 0; n < 50; n++)
    await Promise.all(
      Array.from({ length: 1_000 }, (_, i) => writeFile(at(`many/file-${n * 1_000 + i}.txt`), '')),
    )
  await Promise.all(
    Array.from({ length: 2_000 }, (_, n) => mkdir(at(`folder ${n}/src`), { recursive: true })),
  )
  const page = await open()
  await inspector(page).getByRole('tab', { name: 'Project', exact: true }).click()
  await inspector(page).getByRole('button', { name: 'Choose a project' }).click()
  await page.getByRole('option', { name: /^Large/ }).click()
  await row(page, /^folder 0/).focus()
  await page.keyboard.press('End')
  await row(page, /^many/).click()
  await row(page, /^file-0\.txt/).waitFor()
  assert.ok((await inspector(page).getByRole('treeitem').count()) < 60, 'only rows in sight are drawn')
  // The end of what is loaded loads what follows, and the focus stays where that begins.
  const last = row(page, /^file-49999\.txt/)
  const goOn = async () => {
    await page.keyboard.press('End')
    return last.isVisible()
  }
  await expect.poll(goOn, { intervals: [200], timeout: 60_000 }).toBe(true)
  await expect(row(page, /^file-2000\.txt/)).toHaveCount(0)
  await shot(page, 'project-files-many')
})

test('a file is found by its name, in Chinese too, and opened by keys', async ({ app, open }) => {
  await project(app, 'Names', { 'deep/below/绿茶 笔记.md': '# Tea\n', 'other.txt': 'x' })
  const page = await open()
  await inspector(page).getByRole('tab', { name: 'Project', exact: true }).click()
  await inspector(page)
    .getByRole('button', { name: /^Project: |Choose a project/ })
    .click()
  await page.getByRole('option', { name: /^Names/ }).click()
  const field = inspector(page).getByRole('combobox', { name: 'Find a file' })
  await field.fill('绿茶')
  await expect(inspector(page).getByRole('option', { selected: true })).toContainText('绿茶 笔记.md')
  await shot(page, 'project-files-found')
  await field.press('Enter')
  await expect(text(page)).toContainText('# Tea')
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('combobox').fill('other.txt')
  await page.getByRole('option', { name: 'other.txt' }).click()
  await expect(text(page)).toHaveText('x')
})

test('links follow a renamed note when a person says so', async ({ app, open }) => {
  const { at } = await project(app, 'Vault', { 'Tea.md': 'x', 'Note.md': '[[Tea|a cup]]\n`[[Tea]]`\n' })
  const note = () => readFile(at('Note.md'), 'utf8')
  const page = await open()
  await inspector(page).getByRole('tab', { name: 'Project', exact: true }).click()
  await inspector(page)
    .getByRole('button', { name: /^Project: |Choose a project/ })
    .click()
  await page.getByRole('option', { name: /^Vault/ }).click()
  await menu(page, 'Vault/Tea.md', 'Rename')
  await page.getByRole('dialog').getByRole('textbox').fill('Green tea.md')
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Update 1 link in 1 note?' }).waitFor()
  assert.equal(await note(), '[[Tea|a cup]]\n`[[Tea]]`\n')
  await shot(page, 'project-links-ask')
  await page.getByRole('button', { name: 'Update', exact: true }).click()
  await until(note, text => text === '[[Green tea|a cup]]\n`[[Tea]]`\n', 'the links')
  await page.getByRole('button', { name: 'Undo', exact: true }).click()
  await until(note, text => text === '[[Tea|a cup]]\n`[[Tea]]`\n', 'the links')
})

test('on a phone the files have the whole pane until one is open', async ({ app, open }) => {
  const files = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`note ${n + 10}.md`, `# ${n}\n`]))
  const { id } = await project(app, 'Long', files)
  const page = await open({ ...MOBILE, path: `/p/${id}`, ready: inspector })
  await row(page, /^note 10\.md/).waitFor()
  const tree = inspector(page).getByRole('tree')
  const heights = async () => {
    const list = await tree.evaluate(tree => tree.closest('.scroll').getBoundingClientRect())
    const pane = await inspector(page).boundingBox()
    return { below: pane.y + pane.height - list.bottom, part: list.height / pane.height }
  }
  const before = await heights()
  assert.ok(before.below < 12 && before.part > 0.7, JSON.stringify(before))
  await shot(page, 'project-files-phone')
  await tree.evaluate(tree => tree.closest('.scroll').scrollTo(0, 100_000))
  await row(page, /^note 49\.md/).click()
  await inspector(page).getByRole('tab', { name: 'note 49.md' }).waitFor()
  const after = await heights()
  assert.ok(after.part < 0.45, JSON.stringify(after))
  await row(page, /^note 49\.md/).waitFor()
  await shot(page, 'project-files-phone-open')
  await inspector(page).getByRole('tab', { name: 'note 49.md' }).press('Delete')
  await expect.poll(async () => (await heights()).below).toBeLessThan(12)
})

for (const { look, small, given } of LOOKS) {
  test(`the files of a project: ${look}`, async ({ app, open }) => {
    const name = `Shop ${look}`
    const { id } = await project(app, name, {
      'src/components/Button.tsx': 'export const Button = () => null\n',
      'src/index.ts': "import './app'\n",
      'README.md': '# Shop\n\nA *small* shop.\n',
      '.gitignore': 'node_modules/\n',
      'node_modules/x/index.js': '',
    })
    const page = await open({ ...given, ...(small && MOBILE), path: `/p/${id}`, ready: inspector })
    await row(page, /^src/).click()
    await row(page, /^index\.ts/).waitFor()
    assert.deepEqual(await faults(page), [])
    await shot(page, `project-files-${look}`)
    await row(page, /^README\.md/).click()
    await inspector(page).getByRole('tabpanel').last().getByText('Shop').first().waitFor()
    assert.deepEqual(await faults(page), [])
    await shot(page, `project-files-${look}-open`)
  })
}
