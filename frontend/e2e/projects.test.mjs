// Projects are created, uploaded, renamed, deleted and restored in a dialog, which follows what others do meanwhile.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { ask, MOBILE, shot, until } from './harness.mjs'

const test = withMiniclaw()

const dialog = page => page.getByRole('dialog')
const field = (page, name) => dialog(page).getByRole('textbox', { name, exact: true })
const button = (page, name) => dialog(page).getByRole('button', { name, exact: true })
const selector = page => page.locator('#pane-left').getByRole('button', { name: /^(Project: |项目：)/ })

/** Runs a command by the palette. */
async function command(page, words) {
  await page.keyboard.press('ControlOrMeta+k')
  await page.getByRole('combobox').fill(words)
  await page.getByRole('combobox').press('Enter')
}

const send = (app, path, method, body = {}) =>
  ask(app, path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
const create = async (app, name, description = '') =>
  (await send(app, '/api/projects', 'POST', { name, description })).data
const names = async app => (await ask(app, '/api/projects')).data.items.map(({ name }) => name)

/** A folder on the person's computer with these files; removed at the end. */
async function folder(name, files) {
  const root = await mkdtemp(join(tmpdir(), 'miniclaw-folder-'))
  const path = join(root, name)
  for (const [file, content] of Object.entries(files)) {
    await mkdir(join(path, file, '..'), { recursive: true })
    await writeFile(join(path, file), content)
  }
  return { path, remove: () => rm(root, { recursive: true }) }
}

/** Drops a folder of the computer, as the system does. */
async function drop(page, target, path) {
  const { x, y, width, height } = await target.boundingBox()
  const at = { x: x + width / 2, y: y + height / 2 }
  const client = await page.context().newCDPSession(page)
  const data = { items: [], files: [path], dragOperationsMask: 1 }
  await client.send('Input.dispatchDragEvent', { type: 'dragEnter', ...at, data })
  await client.send('Input.dispatchDragEvent', { type: 'dragOver', ...at, data })
  await page.getByText('Drop a folder to upload it as a project').waitFor()
  await shot(page, 'projects-drop')
  await client.send('Input.dispatchDragEvent', { type: 'dragOver', ...at, data })
  await client.send('Input.dispatchDragEvent', { type: 'drop', ...at, data })
}

test('an empty project is created by keys, and opens', async ({ app, open }) => {
  const page = await open()
  await expect(selector(page)).toHaveAccessibleName('Project: All conversations')
  await command(page, 'New project')
  await expect(field(page, 'Name')).toBeFocused()
  await page.keyboard.type('AlgoLab')
  await page.keyboard.press('Tab')
  await page.keyboard.type('Sorting')
  await field(page, 'Name').press('Enter')
  await expect(dialog(page)).toHaveCount(0)
  await expect(selector(page)).toHaveAccessibleName('Project: AlgoLab')
  const { data } = await ask(app, '/api/projects')
  assert.deepEqual(
    data.items.map(({ name, description }) => [name, description]),
    [['AlgoLab', 'Sorting']],
  )
  await selector(page).click()
  await expect(page.getByRole('option', { name: /^AlgoLab/ })).toHaveText('AlgoLabSorting')
})

test('the dialog opens from the selectors, and the focus goes back', async ({ app, open }) => {
  await create(app, 'From selectors')
  const page = await open()
  for (const [trigger, shown] of [
    [selector(page), 'Projects'],
    [page.locator('#pane-chat form').getByRole('button', { name: /^Works in: / }), 'Projects'],
  ]) {
    await trigger.click()
    await page.getByRole('button', { name: 'Manage projects' }).click()
    await page.getByRole('dialog', { name: shown }).waitFor()
    await page.keyboard.press('Escape')
    await expect(trigger).toBeFocused()
  }
})

test('a name that is taken is told at its field', async ({ app, open }) => {
  await create(app, 'Taken')
  const page = await open()
  await command(page, 'New project')
  await field(page, 'Name').fill('taken')
  await button(page, 'Create project').click()
  await dialog(page).getByRole('alert').getByText('There is already a project with this name.').waitFor()
  await expect(field(page, 'Name')).toBeFocused()
  // Another tab was faster.
  await page.route('**/api/projects', route =>
    route.request().method() === 'POST'
      ? route.fulfill({ status: 409, json: { code: 409, reason: 'name_taken', message: 'taken meanwhile' } })
      : route.continue(),
  )
  await field(page, 'Name').fill('Faster')
  await button(page, 'Create project').click()
  await dialog(page).getByRole('alert').getByText('taken meanwhile').waitFor()
  await expect(field(page, 'Name')).toBeFocused()
})

test('a folder is uploaded with its hidden and binary files', async ({ app, open }) => {
  const bytes = Buffer.from([0, 255, 1, 254])
  const { path, remove } = await folder('site', {
    'index.html': '<h1>hi</h1>',
    'img/茶 1.bin': bytes,
    '.gitignore': '*.log\n',
  })
  const page = await open()
  await command(page, 'New project')
  await dialog(page).locator('input[type=file]').setInputFiles(path)
  await dialog(page)
    .getByText(/^site: 3 files, /)
    .waitFor()
  await expect(field(page, 'Name')).toHaveValue('site')
  assert.deepEqual(await faults(page), [])
  await shot(page, 'projects-folder')
  await button(page, 'Upload and create').click()
  await expect(selector(page)).toHaveAccessibleName('Project: site')
  const at = join(app.home, 'workspaces/site')
  assert.deepEqual(await readFile(join(at, 'img/茶 1.bin')), bytes)
  assert.equal(await readFile(join(at, '.gitignore'), 'utf8'), '*.log\n')
  await remove()
})

test('a folder that is dropped is read to its end and uploaded', async ({ app, open }) => {
  const files = Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`deep/er/file ${n}.txt`, `${n}`]))
  const { path, remove } = await folder('many', files)
  const page = await open()
  await command(page, 'Manage projects')
  await drop(page, dialog(page), path)
  await dialog(page)
    .getByText(/^many: 250 files, /)
    .waitFor()
  await button(page, 'Upload and create').click()
  await expect(selector(page)).toHaveAccessibleName('Project: many')
  assert.equal((await readdir(join(app.home, 'workspaces/many/deep/er'))).length, 250)
  await remove()
})

test('an upload shows its progress, and a canceled one leaves nothing', async ({ app, open }) => {
  const files = Object.fromEntries(
    Array.from({ length: 40 }, (_, n) => [`part-${n}.bin`, Buffer.alloc(100_000, n)]),
  )
  const { path, remove } = await folder('slow', files)
  const page = await open()
  const client = await page.context().newCDPSession(page)
  await client.send('Network.emulateNetworkConditions', {
    ...{ offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 400_000 },
  })
  await command(page, 'New project')
  await dialog(page).locator('input[type=file]').setInputFiles(path)
  await button(page, 'Upload and create').click()
  const bar = dialog(page).getByRole('progressbar', { name: 'Uploading' })
  await until(
    () => bar.getAttribute('aria-valuenow'),
    percent => Number(percent) >= 10,
    'progress',
  )
  assert.match(await bar.getAttribute('aria-valuetext'), /^[\d.]+ [KM]B of 3\.8 MB, \d+ of 40 files$/)
  await expect(field(page, 'Name')).toBeDisabled()
  assert.deepEqual(await faults(page), [])
  await shot(page, 'projects-uploading')
  // Escape does not lose it.
  await page.keyboard.press('Escape')
  await expect(bar).toBeVisible()
  await button(page, 'Cancel upload').click()
  await dialog(page).getByRole('alert').getByText('Upload canceled. Nothing was created.').waitFor()
  await client.send('Network.emulateNetworkConditions', {
    ...{ offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 },
  })
  assert.ok(!(await names(app)).includes('slow'))
  await button(page, 'Upload and create').click()
  await expect(selector(page)).toHaveAccessibleName('Project: slow')
  await remove()
})

test('a path that cannot be kept, and an upload that is too large, are explained', async ({ app, open }) => {
  const { path, remove } = await folder('odd', { [`${`${'f'.repeat(230)}/`.repeat(5)}a.txt`]: 'x' })
  const page = await open()
  await command(page, 'New project')
  await dialog(page).locator('input[type=file]').setInputFiles(path)
  await button(page, 'Upload and create').click()
  await dialog(page)
    .getByRole('alert')
    .getByText(/the path is longer than 1,024 bytes/)
    .waitFor()
  await page.route('**/api/projects/uploads/*/files', route =>
    route.fulfill({ status: 413, json: { code: 413, reason: 'too_large', message: 'more than 1 GiB' } }),
  )
  await button(page, 'Upload and create').click()
  await dialog(page).getByRole('alert').getByText('more than 1 GiB').waitFor()
  assert.ok(!(await names(app)).includes('odd'))
  await remove()
})

test('an upload goes on after the connection was lost, and after a reload', async ({ app, open }) => {
  const files = Object.fromEntries(
    Array.from({ length: 30 }, (_, n) => [`part-${n}.bin`, Buffer.alloc(1_000_000, n)]),
  )
  const { path, remove } = await folder('resumed', files)
  const page = await open()
  /** The sizes of the requests that send files; after two of them the connection is lost. */
  const sent = []
  let lost = true
  await page.route('**/api/projects/uploads/*/files', route => {
    sent.push(route.request().headers()['content-length'])
    return lost && sent.length > 2 ? route.abort('connectionreset') : route.continue()
  })
  await command(page, 'New project')
  await dialog(page).locator('input[type=file]').setInputFiles(path)
  await button(page, 'Upload and create').click()
  const bar = dialog(page).getByRole('progressbar', { name: 'Uploading' })
  await expect(bar).toHaveAttribute('aria-valuetext', /^Connection lost\. \d+ of 30 files have arrived/)
  assert.deepEqual(await faults(page), [])
  await shot(page, 'projects-upload-waiting')
  await page.reload()
  await page.locator('[data-composer]').waitFor()
  lost = false
  const own = async () =>
    (await ask(app, '/api/projects/uploads')).data.items.find(({ name }) => name === 'resumed')
  const { files: arrived } = await own()
  assert.ok(arrived > 0 && arrived < 30, `${arrived}`)
  const before = sent.length
  await command(page, 'New project')
  await dialog(page).locator('input[type=file]').setInputFiles(path)
  await button(page, 'Upload and create').click()
  await expect(selector(page)).toHaveAccessibleName('Project: resumed')
  assert.ok(sent.length - before <= Math.ceil((30 - arrived) / 8) + 1, 'what has arrived is not sent again')
  assert.equal((await readdir(join(app.home, 'workspaces/resumed'))).length, 30)
  assert.equal(await own(), undefined)
  await remove()
})

test('a project whose folder was deleted says so, and can be deleted', async ({ app, open }) => {
  const body = JSON.stringify({ name: 'Lost' })
  const { data } = await ask(app, '/api/projects', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  await rm(join(app.home, 'workspaces', data.path), { recursive: true })
  const page = await open()
  await command(page, 'Manage projects')
  const row = dialog(page).getByRole('listitem').filter({ hasText: 'Lost' })
  await row.getByText(/^Not available: another program deleted the folder/).waitFor()
  await expect(row.getByRole('button', { name: /^Link again/ })).toHaveCount(0)
  assert.deepEqual(await faults(page), [])
  await shot(page, 'projects-folder-gone')
  await button(page, 'Delete Lost').click()
  await expect(row.getByText(/^Not available/)).toHaveCount(0)
})

test('a folder of the computer is shown, linked, gone, and only unlinked', async ({ app, open }) => {
  const { path, remove } = await folder('linked', { 'a.txt': 'one' })
  const page = await open()
  await command(page, 'New project')
  await button(page, 'Link a folder…').click()
  await expect(field(page, 'Folder')).toBeFocused()
  await page.keyboard.type('/etc')
  await page.keyboard.press('Enter')
  await dialog(page)
    .getByText(/belongs to the system/)
    .waitFor()
  await expect(field(page, 'Folder')).toBeFocused()
  assert.deepEqual(await faults(page), [])
  await field(page, 'Folder').fill(path)
  await page.keyboard.press('Enter')
  const shown = dialog(page).getByRole('region', { name: 'The folder to link' })
  await shown.getByText(path, { exact: true }).waitFor()
  await shown.getByText(/run commands in it/).waitFor()
  await expect(field(page, 'Name')).toHaveValue('linked')
  assert.deepEqual(await faults(page), [])
  await shot(page, 'projects-link')
  assert.ok(!(await names(app)).includes('linked'), 'it is only shown')
  await button(page, 'Link this folder').click()
  await expect(selector(page)).toHaveAccessibleName('Project: linked')

  await rename(path, `${path}-away`)
  await command(page, 'Manage projects')
  await dialog(page)
    .getByText(/^Not available: the folder is gone/)
    .waitFor()
  assert.deepEqual(await faults(page), [])
  await shot(page, 'projects-link-gone')
  await button(page, 'Link again the folder of linked').click()
  await field(page, 'Folder').fill(`${path}-away`)
  await page.keyboard.press('Enter')
  await shown.waitFor()
  await button(page, 'Link this folder').click()
  await dialog(page).getByText('Linked the folder of linked again.').waitFor()
  await button(page, 'Remove the link to the folder of linked').click()
  await dialog(page)
    .getByText(/stays as it is/)
    .waitFor()
  assert.equal(await readFile(join(`${path}-away`, 'a.txt'), 'utf8'), 'one')
  await remove()
})

for (const { look, small, given } of LOOKS)
  test(`linking a folder: ${look}`, async ({ open }) => {
    const { path, remove } = await folder('looks', { 'a.txt': '' })
    const page = await open({ ...given, ...(small && MOBILE) })
    const zh = given.lang === 'zh'
    await command(page, zh ? '新建项目' : 'New project')
    await button(page, zh ? '链接文件夹…' : 'Link a folder…').click()
    await field(page, zh ? '文件夹' : 'Folder').fill(path)
    await page.keyboard.press('Enter')
    await dialog(page).getByText(path, { exact: true }).waitFor()
    assert.deepEqual(await faults(page), [])
    await shot(page, `projects-link-${look}`)
    await remove()
  })

test('a project is renamed, deleted, and restored with its files', async ({ app, open }) => {
  const { path } = await create(app, 'Tea')
  await writeFile(join(app.home, 'workspaces', path, 'leaf.txt'), 'green')
  const page = await open()
  await command(page, 'Manage projects')
  await button(page, 'Edit name and description of Tea').click()
  await expect(field(page, 'Name')).toBeFocused()
  await field(page, 'Name').fill('Tea house')
  await field(page, 'Description').fill('Leaves')
  await field(page, 'Name').press('Enter')
  await dialog(page).getByRole('status').getByText('Saved Tea house.').waitFor()
  await dialog(page).getByText('Leaves').waitFor()

  await button(page, 'Delete Tea house').click()
  await expect(button(page, 'Undo')).toBeFocused()
  await shot(page, 'projects-deleted')
  assert.deepEqual(await faults(page), [])
  assert.ok(!(await names(app)).includes('Tea house'))
  await page.keyboard.press('Enter')
  await dialog(page).getByText('Restored Tea house.').waitFor()
  assert.equal(await readFile(join(app.home, 'workspaces', path, 'leaf.txt'), 'utf8'), 'green')

  await button(page, 'Delete Tea house').click()
  await page.keyboard.press('Escape')
  await command(page, 'Manage projects')
  await button(page, 'Restore Tea house').click()
  await dialog(page).getByText('Restored Tea house.').waitFor()
  await button(page, 'Open Tea house').click()
  await expect(selector(page)).toHaveAccessibleName('Project: Tea house')
})

test('the list follows what others do', async ({ app, open }) => {
  const page = await open()
  await command(page, 'Manage projects')
  const { id } = await create(app, 'Of another tab')
  await dialog(page).getByText('Of another tab').waitFor()
  await send(app, `/api/projects/${id}`, 'PUT', { name: 'Renamed elsewhere' })
  await dialog(page).getByText('Renamed elsewhere').waitFor()
  await send(app, `/api/projects/${id}`, 'DELETE')
  await button(page, 'Restore Renamed elsewhere').waitFor()
})

for (const { look, small, given } of LOOKS) {
  test(`the dialog of projects: ${look}`, async ({ app, open }) => {
    if (!(await names(app)).includes('数据分析')) {
      await create(app, '数据分析', '季度报表与图表')
      await create(app, 'Bakery')
    }
    const page = await open({ ...given, ...(small && MOBILE) })
    const zh = given.lang === 'zh'
    await command(page, zh ? '管理项目' : 'Manage projects')
    await dialog(page).getByText('数据分析').first().waitFor()
    assert.deepEqual(await faults(page), [])
    await shot(page, `projects-${look}`)
    await button(page, zh ? '新建项目' : 'New project').click()
    await field(page, zh ? '名称' : 'Name').waitFor()
    assert.deepEqual(await faults(page), [])
    await shot(page, `projects-new-${look}`)
  })
}
