// Git and the secrets of a project, in the Project tab.
import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { ask, MOBILE, shot } from './harness.mjs'

const test = withMiniclaw()

const inspector = page => page.locator('#pane-right')
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

/** Opens the page at a file of the project, and the dialog of this button. */
async function opened(page, label) {
  await inspector(page).getByRole('button', { name: label, exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.waitFor()
  return dialog
}

test('changes are staged, committed, looked at and discarded', async ({ app, open }) => {
  const { id, at } = await project(app, 'Teahouse', { 'README.md': '# Tea\n', 'src/茶.txt': 'leaves\n' })
  const page = await open({ path: `/p/${id}/f/README.md` })
  const dialog = await opened(page, 'Git: changes, commits, branches')
  await dialog.getByRole('button', { name: 'Create repository' }).click()
  const notStaged = dialog.getByRole('region', { name: 'Not staged' })
  await notStaged.getByText('README.md').waitFor()
  await notStaged.getByRole('button', { name: 'Stage all' }).click()
  const staged = dialog.getByRole('region', { name: 'Staged', exact: true })
  await staged.getByText('src/茶.txt').waitFor()
  await staged.getByRole('button', { name: 'Unstage src/茶.txt' }).click()
  await notStaged.getByText('src/茶.txt').waitFor()
  await notStaged.getByRole('button', { name: 'Stage src/茶.txt' }).click()
  await expect(dialog.getByRole('button', { name: 'Commit 2 files' })).toBeDisabled()
  await dialog.getByLabel('Commit message').fill('Open the tea house')
  await dialog.getByLabel('Your name').fill('Ada Lovelace')
  await dialog.getByLabel('Your email').fill('ada@example.org')
  await dialog.getByRole('button', { name: 'Commit 2 files' }).click()
  await dialog.getByText('There are no changes.').waitFor()

  await writeFile(at('README.md'), '# Tea\n\nAnd coffee.\n')
  await dialog.getByRole('button', { name: 'Refresh' }).click()
  await notStaged.getByRole('button', { name: /README\.md.*modified/ }).click()
  await dialog.getByRole('group', { name: 'README.md' }).getByText('And coffee.').waitFor()
  assert.deepEqual(await faults(page), [])
  await notStaged.getByRole('button', { name: 'Discard changes of README.md' }).click()
  await dialog.getByText('There are no changes.').waitFor()
  assert.equal(await readFile(at('README.md'), 'utf8'), '# Tea\n')
  await dialog.getByRole('button', { name: 'Undo', exact: true }).click()
  await notStaged.getByText('README.md').waitFor()
  assert.equal(await readFile(at('README.md'), 'utf8'), '# Tea\n\nAnd coffee.\n')

  await dialog.getByRole('button', { name: 'New branch' }).click()
  await dialog.getByLabel('Name of the branch').fill('idea/coffee')
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()
  await dialog.getByRole('button', { name: 'Branch: idea/coffee' }).click()
  await page.getByRole('option', { name: /^main/ }).click()
  await dialog.getByText(/changes that are not committed/).waitFor()
  await dialog.getByRole('button', { name: 'History' }).click()
  await dialog.getByRole('button', { name: /Open the tea house/ }).click()
  await dialog.getByRole('group', { name: 'Open the tea house' }).getByText('leaves').waitFor()
  assert.deepEqual(await faults(page), [])
})

test('an empty line of a diff has a height, and is copied', async ({ app, open }) => {
  const { id, at } = await project(app, 'Blank', { 'tea.md': 'Green\n\n\nBlack\n' })
  const page = await open({ path: `/p/${id}/f/tea.md` })
  await send(app, `/api/projects/${id}/git/init`, 'POST')
  await send(app, `/api/projects/${id}/git/stage`, 'POST')
  const author = { name: 'Ada Lovelace', email: 'ada@example.org' }
  await send(app, `/api/projects/${id}/git/commit`, 'POST', { message: 'Tea', author })
  await writeFile(at('tea.md'), 'Green\n\n\nOolong\n\nBlack\n')
  const dialog = await opened(page, 'Git: changes, commits, branches')
  await dialog.getByRole('button', { name: /tea\.md.*modified/ }).click()
  const diff = dialog.getByRole('group', { name: 'tea.md' })
  await diff.getByText('Oolong').waitFor()
  const heights = await diff.evaluate(group => [...group.children].map(row => row.offsetHeight))
  assert.equal(heights.length, 7)
  assert.ok(Math.min(...heights) > 10, heights.join(', '))
  const copied = await diff.evaluate(group => {
    getSelection().selectAllChildren(group)
    return getSelection().toString()
  })
  assert.equal(copied.slice(copied.indexOf('\n') + 1), 'Green\n\n\nOolong\n\nBlack')
})

test('secrets are set, replaced and deleted, and never shown', async ({ app, open }) => {
  const { id } = await project(app, 'Secretive', { 'README.md': '# Tea\n' })
  const page = await open({ path: `/p/${id}/f/README.md` })
  const dialog = await opened(page, 'Secrets of the project')
  await dialog.getByText('This project has no secrets.').waitFor()
  await dialog.getByLabel('Name', { exact: true }).fill('PATH')
  await dialog.getByLabel('Value', { exact: true }).fill('long enough')
  await dialog.getByRole('button', { name: 'Add secret' }).click()
  await dialog
    .getByRole('alert')
    .getByText(/changes how programs run/)
    .waitFor()
  await dialog.getByLabel('Name', { exact: true }).fill('API_TOKEN')
  await page.keyboard.press('Enter')
  await dialog.getByRole('listitem').getByText('API_TOKEN').waitFor()
  await expect(dialog.getByLabel('Value', { exact: true })).toHaveValue('')
  assert.deepEqual(await faults(page), [])
  await dialog.getByRole('button', { name: 'Replace API_TOKEN' }).click()
  await dialog.getByLabel('Value', { exact: true }).fill('another value')
  await dialog.getByRole('button', { name: 'Replace value' }).click()
  await expect(dialog.getByLabel('Name', { exact: true })).toHaveValue('')
  const listed = await ask(app, `/api/projects/${id}/secrets`)
  assert.deepEqual(
    listed.data.items.map(({ name }) => name),
    ['API_TOKEN'],
  )
  assert.ok(!JSON.stringify(listed).includes('another value'))
  await dialog.getByRole('button', { name: 'Delete API_TOKEN' }).click()
  await dialog.getByText('This project has no secrets.').waitFor()
})

for (const { look, small, given } of LOOKS)
  test(`git and secrets: ${look}`, async ({ app, open }) => {
    const { id, at } = await project(app, `Teahouse ${look}`, {
      'README.md': '# Tea\n',
      'src/茶.txt': 'leaves\n',
    })
    const api = `/api/projects/${id}`
    const author = { name: 'Ada Lovelace', email: 'ada@example.org' }
    await send(app, `${api}/git/init`, 'POST')
    await send(app, `${api}/git/stage`, 'POST')
    await send(app, `${api}/git/commit`, 'POST', { message: 'Open the tea house', author })
    await writeFile(at('README.md'), '# Tea\n\nAnd coffee.\n')
    await writeFile(at('menu.txt'), 'green\n')
    await send(app, `${api}/git/stage`, 'POST', { paths: ['menu.txt'] })
    await send(app, `${api}/secrets/API_TOKEN`, 'PUT', { value: 'a long value' })
    const page = await open({ ...given, ...(small && MOBILE), path: `/p/${id}`, ready: inspector })
    const button = index => inspector(page).locator('button[aria-haspopup=dialog]').nth(index)
    await button(-2).click()
    await page.getByRole('dialog').getByText('README.md').click()
    await page.getByRole('dialog').getByText('And coffee.').waitFor()
    await shot(page, `git-${look}`)
    await page.keyboard.press('Escape')
    await button(-1).click()
    await page.getByRole('dialog').getByText('API_TOKEN', { exact: true }).waitFor()
    await shot(page, `secrets-${look}`)
  })
