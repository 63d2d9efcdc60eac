// Members of a project on a server for several people: inviting, answering, roles, and a project that is only read.
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { fakeMembers, member } from './fake-members.mjs'
import { account } from './fake-people.mjs'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { ask, shot } from './harness.mjs'

const test = withMiniclaw()

const PEOPLE = ['ann', 'bob', 'cleo'].map(name => account(name))
const dialog = page => page.getByRole('dialog')
const inspector = page => page.locator('#pane-right')
const send = (app, path, method, body = {}) =>
  ask(app, path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

/** A project of the tested server with one file. */
async function project(app, name) {
  const { id, path } = (await send(app, '/api/projects', 'POST', { name })).data
  const folder = join(app.home, 'workspaces', path)
  await mkdir(join(folder, 'notes'))
  await writeFile(join(folder, 'README.md'), '# Tea\n')
  return id
}

/** A page on which this person has signed in. */
async function openAs(open, name, shared, given = {}) {
  const world = { accounts: PEOPLE.map(person => ({ ...person })), shared }
  const page = await open({
    ready: page => dialog(page).locator('[name=password]'),
    ...given,
    prepare: page => fakeMembers(page.context(), world),
  })
  await dialog(page).locator('[name=username]').fill(name)
  await dialog(page).locator('[name=password]').fill(`${name}-password`)
  await dialog(page).locator('[name=password]').press('Enter')
  await dialog(page).waitFor({ state: 'detached' })
  await page.locator('[data-composer]').waitFor()
  return { page, world }
}

const selector = page => page.locator('#pane-left').getByRole('button', { name: /^(Project: |项目：)/ })
const status = page => dialog(page).getByRole('status').filter({ hasText: /./ })

/** Opens a file of the project, whose tab is then shown. */
async function show(app, page, id) {
  await page.goto(`${app.url}/p/${id}/f/README.md`)
  await inspector(page)
    .getByRole('treeitem', { name: /README/ })
    .waitFor()
}

test('an owner invites, changes roles and removes, by keyboard', async ({ app, open }) => {
  const id = await project(app, 'Owned')
  const { page, world } = await openAs(open, 'ann', { [id]: { name: 'Owned', owner: 'ann', members: [] } })
  await show(app, page, id)
  const button = inspector(page).getByRole('button', { name: 'Members of this project' })
  await button.focus()
  await page.keyboard.press('Enter')
  await dialog(page).getByText('Nobody else works in this project.').waitFor()
  const name = dialog(page).getByLabel('User name')
  await expect(name).toBeFocused()
  await name.fill('bob')
  await dialog(page).getByLabel('Role', { exact: true }).selectOption('viewer')
  await name.press('Enter')
  await expect(status(page)).toHaveText('Invited bob. If there is such a user, they see the invitation.')
  await expect(name).toBeFocused()
  await expect(name).toHaveValue('')
  // A name that nobody has looks the same.
  await name.fill('nobody')
  await name.press('Enter')
  const rows = dialog(page).getByRole('list', { name: 'Members' }).getByRole('listitem')
  await expect(rows).toHaveCount(3)
  await expect(rows.nth(1)).toContainText('invited')
  await expect(rows.nth(2)).toContainText('invited')
  // Your own name is refused, and what was typed stays.
  await name.fill('ann')
  await name.press('Enter')
  await dialog(page).getByRole('alert').waitFor()
  await expect(name).toHaveValue('ann')

  world.shared[id].members[0].state = 'member'
  await dialog(page).getByLabel('Role of bob').selectOption('editor')
  await expect(status(page)).toHaveText('bob: Editor.')
  assert.equal(world.shared[id].members[0].role, 'editor')
  // An invitation is taken back at once, a member is removed after a question.
  await dialog(page).getByRole('button', { name: 'Take back the invitation of nobody' }).click()
  await expect(rows).toHaveCount(2)
  const remove = dialog(page).getByRole('button', { name: 'Remove bob' })
  await remove.focus()
  await page.keyboard.press('Enter')
  await expect(dialog(page).getByRole('button', { name: 'Cancel' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(remove).toBeFocused()
  assert.equal(world.shared[id].members.length, 1)
  await page.keyboard.press('Enter')
  await dialog(page).getByRole('button', { name: 'Remove', exact: true }).press('Enter')
  await expect(rows).toHaveCount(1)
  await expect(status(page)).toHaveText('bob is no longer a member.')
  assert.equal(await page.evaluate(() => document.activeElement.closest('[role=dialog]') !== null), true)
  await page.keyboard.press('Escape')
  await expect(button).toBeFocused()
})

test('an invitation is shown where projects are chosen, and answered there', async ({ app, open }) => {
  const tea = await project(app, 'Tea')
  const salt = await project(app, 'Salt')
  const { page, world } = await openAs(open, 'bob', {
    [tea]: { name: 'Tea', owner: 'ann', members: [member('bob', 'editor', 'invited')] },
    [salt]: { name: 'Salt', owner: 'cleo', members: [member('bob', 'viewer', 'invited')] },
  })
  await expect(selector(page)).toHaveAccessibleName(/ · 2 invitations to projects$/)
  await selector(page).click()
  const list = page.getByRole('list', { name: 'Invitations to projects' })
  await list.getByText('ann invites you to “Tea” as editor').waitFor()
  await list.getByText('cleo invites you to “Salt” as viewer').waitFor()
  await list.getByRole('button', { name: 'Decline the invitation to Salt' }).press('Enter')
  await page.locator('[data-toast]').getByText('Declined the invitation to “Salt”.').waitFor()
  assert.deepEqual(world.shared[salt].members, [])
  await expect(selector(page)).toBeFocused()
  await expect(selector(page)).toHaveAccessibleName(/ · 1 invitation to projects$/)
  await selector(page).click()
  await list.getByRole('button', { name: 'Accept the invitation to Tea' }).press('Enter')
  await page.locator('[data-toast]').getByText('You’re now a member of “Tea”.').waitFor()
  await expect(selector(page)).not.toHaveAccessibleName(/invitation/)
  await selector(page).click()
  await expect(page.getByRole('option', { name: /^Tea/ })).toContainText('Shared by ann')
  await expect(list).toHaveCount(0)
})

test('a viewer reads a project, changes nothing, and leaves it', async ({ app, open }) => {
  const id = await project(app, 'Read')
  const { page, world } = await openAs(open, 'bob', {
    [id]: { name: 'Read', owner: 'ann', members: [member('bob', 'viewer'), member('cleo')] },
  })
  await show(app, page, id)
  await inspector(page).getByText('Shared by ann').waitFor()
  for (const name of ['New file', 'New folder', 'Upload files', 'Save', 'Secrets of the project'])
    await expect(inspector(page).getByRole('button', { name, exact: true })).toHaveCount(0)
  await expect(inspector(page).getByText('Read only', { exact: true })).toHaveCount(2)
  const text = inspector(page).locator('.cm-content')
  await text.click()
  await page.keyboard.type('more')
  await expect(text).toHaveAttribute('aria-readonly', 'true')
  await expect(text).toHaveText(/^# Tea/)
  await inspector(page)
    .getByRole('treeitem', { name: /README/ })
    .hover()
  await inspector(page)
    .getByRole('button', { name: /^Actions for .*README\.md$/ })
    .click()
  await expect(page.getByRole('menuitem')).toHaveText(['Copy link', 'Download'])
  await page.keyboard.press('Escape')
  await inspector(page).getByRole('button', { name: 'Git: changes, commits, branches' }).click()
  await dialog(page)
    .getByText(/repository/)
    .first()
    .waitFor()
  await expect(dialog(page).getByRole('button', { name: 'Create repository' })).toHaveCount(0)
  await page.keyboard.press('Escape')
  await inspector(page).getByRole('button', { name: 'Members of this project' }).click()
  await expect(dialog(page).getByLabel('User name')).toHaveCount(0)
  await expect(dialog(page).getByRole('combobox')).toHaveCount(0)
  await dialog(page).getByRole('button', { name: 'Leave project' }).click()
  await dialog(page).getByRole('alert').waitFor()
  await dialog(page).getByRole('button', { name: 'Leave project' }).last().click()
  await dialog(page).waitFor({ state: 'detached' })
  await page.locator('[data-toast]').getByText('You left Read.').waitFor()
  assert.deepEqual(world.shared[id].members, [member('cleo')])
  await inspector(page).getByText('Shared by ann').waitFor({ state: 'detached' })
})

test('the dialog of projects offers what the role allows', async ({ app, open }) => {
  const mine = await project(app, 'Mine')
  const theirs = await project(app, 'Theirs')
  const { page } = await openAs(open, 'bob', {
    [mine]: { name: 'Mine', owner: 'bob', members: [] },
    [theirs]: { name: 'Theirs', owner: 'ann', members: [member('bob', 'editor')] },
  })
  await selector(page).click()
  await page.getByRole('button', { name: 'Manage projects' }).click()
  const row = name => dialog(page).getByRole('listitem').filter({ hasText: name })
  await row('Theirs').getByText('Shared by ann · Editor').waitFor()
  await expect(row('Theirs').getByRole('button')).toHaveText(['Open', ''])
  await row('Mine').getByRole('button', { name: 'Delete Mine' }).waitFor()
  await row('Mine').getByRole('button', { name: 'Members of Mine' }).click()
  await expect(dialog(page).getByLabel('User name')).toBeFocused()
  await dialog(page).getByRole('button', { name: 'Back' }).click()
  // Somebody else's project doesn't take the name.
  await dialog(page).getByRole('button', { name: 'New project' }).click()
  await dialog(page).getByLabel('Name').fill('Theirs')
  const asked = page.waitForRequest(
    request => request.method() === 'POST' && request.url().endsWith('/api/projects'),
  )
  await dialog(page).getByRole('button', { name: 'Create project' }).click()
  assert.equal((await asked).postDataJSON().name, 'Theirs')
})

for (const { look, given, small } of LOOKS.filter(({ look }) => /desktop-light|mobile-dark/.test(look)))
  test(`members and invitations: ${look}`, async ({ app, open }) => {
    const id = await project(app, `Tea ${look}`)
    const name = 'A name as long as this one, which somebody else has chosen for their project'
    const other = await project(app, `${name} ${look}`)
    const { page } = await openAs(
      open,
      'bob',
      {
        [id]: { name: 'Tea', owner: 'bob', members: [member('ann'), member('dora', 'viewer', 'invited')] },
        [other]: { name, owner: 'cleo', members: [member('bob', 'viewer', 'invited')] },
      },
      given,
    )
    const check = async what => {
      assert.deepEqual(await faults(page), [], what)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.ok(wide <= 0, `${what}: ${wide} px too wide`)
      await shot(page, `members-${what}-${look}`)
    }
    if (small) await page.locator('nav').last().getByRole('button').first().click()
    await selector(page).click()
    await page.getByRole('list', { name: /^(Invitations to projects|项目邀请)$/ }).waitFor()
    await check('invitation')
    await page.getByRole('button', { name: /^(Accept the invitation|接受加入)/ }).press('Enter')
    await page.locator('[data-toast]').waitFor()
    await show(app, page, other)
    await inspector(page)
      .getByText(/^(Shared by cleo|由 cleo 共享)$/)
      .waitFor()
    await check('read-only')
    await show(app, page, id)
    await inspector(page)
      .getByRole('button', { name: /^(Members of this project|此项目的成员)$/ })
      .click()
    await dialog(page)
      .getByRole('button', { name: /(Remove ann|移除 ann)/ })
      .click()
    await dialog(page).getByRole('alert').waitFor()
    await check('list')
  })
