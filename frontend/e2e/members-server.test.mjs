// Members of a project on a real server: an invitation by name, an editor who writes, a viewer who cannot, and an end.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { expect } from '@playwright/test'
import { asked, dialog, isNarrow, multi, signedIn, tooWide, VIEWS } from './accounts.mjs'
import { faults, withMiniclaw } from './fixtures.mjs'
import { shot, until } from './harness.mjs'

const test = withMiniclaw(multi())

const inspector = page => page.locator('#pane-right')
const row = (page, name) => inspector(page).getByRole('treeitem', { name })
const selector = page => page.locator('#pane-left').getByRole('button', { name: /^(Project: |项目：)/ })
const toast = (page, text) => page.locator('[data-toast]').getByText(text).waitFor()
const text = page => inspector(page).locator('.cm-content')

/** A project of a person with one file, made as a program of theirs would; returns its id. */
const project = (page, name) =>
  page.evaluate(async name => {
    const send = (path, body, headers = {}) =>
      fetch(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
    const { data } = await (await send('/api/projects', { name })).json()
    const file = { path: `project/${data.id}/README.md`, content: '# Tea\n' }
    const made = await send('/api/files', file, { 'If-None-Match': '*' })
    if (!made.ok) throw new Error(await made.text())
    return data.id
  }, name)

async function show(app, page, id) {
  await page.goto(`${app.url}/p/${id}/f/README.md`)
  await row(page, /README/).waitFor()
}

const openMembers = async page => {
  await inspector(page)
    .getByRole('button', { name: /^(Members of this project|此项目的成员)$/ })
    .click()
  await dialog(page).waitFor()
}

async function invite(page, name, role) {
  await dialog(page).getByLabel('User name').fill(name)
  await dialog(page).getByLabel('Role', { exact: true }).selectOption(role)
  await dialog(page).getByLabel('User name').press('Enter')
  await dialog(page).getByText(`Invited ${name}. If there is such a user, they see the invitation.`).waitFor()
}

async function accept(page, name) {
  await until(
    () => asked(page, '/api/projects/invitations'),
    ({ body }) => body.data.items.length > 0,
    'the invitation',
  )
  await page.reload()
  await expect(selector(page)).toHaveAccessibleName(/ · 1 invitation to projects$/)
  await selector(page).click()
  await page.getByRole('button', { name: `Accept the invitation to ${name}` }).click()
  await toast(page, `You’re now a member of “${name}”.`)
}

/** Notes every button of the right pane that is drawn from now on, also those that vanish again at once. */
const noteButtons = page =>
  page.addInitScript(() => {
    window.seenButtons = new Set()
    const look = () => {
      for (const button of document.querySelectorAll('#pane-right button'))
        window.seenButtons.add(button.ariaLabel ?? button.textContent)
    }
    new MutationObserver(look).observe(document, { subtree: true, childList: true })
  })

test('an editor and a viewer join a project, work as they may, and are removed', async ({ app, open }) => {
  const ann = await signedIn({ open, app }, 'ann')
  const bob = await signedIn({ open, app }, 'bob')
  const cleo = await signedIn({ open, app }, 'cleo')
  const id = await project(ann, 'Tea')
  await show(app, ann, id)
  await openMembers(ann)
  await invite(ann, 'bob', 'editor')
  await invite(ann, 'cleo', 'viewer')
  await ann.keyboard.press('Escape')

  // Until they accept, the project is closed.
  assert.equal((await asked(bob, `/api/projects/${id}/members`)).status, 404)
  await accept(bob, 'Tea')
  await accept(cleo, 'Tea')

  // The editor writes, and the owner sees it.
  await show(app, bob, id)
  await inspector(bob).getByText('Shared by ann').waitFor()
  await text(bob).click()
  await bob.keyboard.press('ControlOrMeta+End')
  await bob.keyboard.type('Green, not black.')
  await bob.keyboard.press('ControlOrMeta+s')
  await expect(text(ann)).toContainText('Green, not black.')
  await inspector(bob).getByRole('button', { name: 'New file', exact: true }).click()
  await dialog(bob).getByRole('textbox').fill('cups.md')
  await dialog(bob).getByRole('textbox').press('Enter')
  await row(bob, /cups/).waitFor()
  await row(ann, /cups/).waitFor()

  // The viewer reads, and is never shown a button that would be refused, not even while the page loads.
  await noteButtons(cleo)
  const refused = []
  cleo.on('response', response => {
    if (response.status() === 403) refused.push(response.url())
  })
  await show(app, cleo, id)
  await inspector(cleo).getByText('Read only', { exact: true }).first().waitFor()
  await expect(text(cleo)).toContainText('Green, not black.')
  await expect(text(cleo)).toHaveAttribute('aria-readonly', 'true')
  const seen = await cleo.evaluate(() => [...window.seenButtons])
  assert.ok(seen.includes('Members of this project'), seen.join(', '))
  for (const name of ['New file', 'New folder', 'Upload files', 'Save', 'Secrets of the project'])
    assert.ok(!seen.some(button => button.startsWith(name)), `${name} was shown`)
  await text(cleo).click()
  await cleo.keyboard.type('more')
  await cleo.keyboard.press('ControlOrMeta+s')
  await row(cleo, /README/).click({ button: 'right' })
  await openMembers(cleo)
  await expect(dialog(cleo).getByRole('combobox')).toHaveCount(0)
  await expect(dialog(cleo).getByRole('listitem')).toHaveCount(3)
  await dialog(cleo).getByRole('button', { name: 'Leave project' }).waitFor()
  await cleo.keyboard.press('Escape')
  assert.deepEqual(refused, [])

  // The owner makes the viewer an editor: the page follows without a reload.
  await openMembers(ann)
  await dialog(ann).getByLabel('Role of cleo').selectOption('editor')
  await dialog(ann).getByText('cleo: Editor.').waitFor()
  await inspector(cleo).getByRole('button', { name: 'New file', exact: true }).waitFor()

  // Whoever is removed sees the project no more, and is told so beside the text that cannot be saved there any more.
  await row(bob, /README/).click()
  await expect(text(bob)).toContainText('Green, not black.')
  await text(bob).click()
  await bob.keyboard.press('ControlOrMeta+End')
  await bob.keyboard.type(' White.')
  await dialog(ann).getByRole('button', { name: 'Remove bob' }).click()
  await dialog(ann).getByRole('button', { name: 'Remove', exact: true }).click()
  await dialog(ann).getByText('bob is no longer a member.').waitFor()
  assert.equal((await asked(bob, `/api/projects/${id}/members`)).status, 404)
  await inspector(bob).getByText('Shared by ann').waitFor({ state: 'detached' })
  await shot(bob, 'members-server-removed')
  await expect(inspector(bob).getByRole('button', { name: /^(New file|Save)$/ })).toHaveCount(0)
  const alert = inspector(bob).getByRole('alert')
  await expect(alert).toContainText('This project was deleted or is no longer shared with you.')
  await expect(alert).toContainText('Your unsaved changes can’t be saved to it: copy or download them.')
  await expect(text(bob)).toHaveAttribute('aria-readonly', 'true')
  assert.deepEqual(await faults(bob), [])
  const loading = bob.waitForEvent('download')
  await alert.getByRole('button', { name: 'Download' }).click()
  const download = await loading
  assert.equal(download.suggestedFilename(), 'README.md')
  assert.match(await readFile(await download.path(), 'utf8'), /Green, not black\. White\.$/)
  await alert.getByRole('button', { name: 'Discard and close' }).click()
  await expect(text(bob)).not.toContainText('White.')
  await bob.locator('[data-toast]').getByRole('button', { name: 'Undo' }).click()
  await expect(text(bob)).toContainText('White.')
  await alert.getByRole('button', { name: 'Discard and close' }).click()
  await alert.getByRole('button', { name: 'Close file' }).click()
  await inspector(bob).getByText('Select a file to view or edit it.').waitFor()
  await bob.goto(app.url)
  await bob.locator('[data-composer]').waitFor()
  await expect(bob.getByText('Tea', { exact: true })).toHaveCount(0)
})

for (const [view, look] of VIEWS)
  test(`a project with members: ${view}`, async ({ app, open }) => {
    const owner = await signedIn({ open, app }, 'dora')
    const page = await signedIn({ open, app }, 'ed', look)
    const name = `Tea ${view}`
    const id = await project(owner, name)
    const set = (who, role) =>
      owner.evaluate(
        async ([id, who, role]) => {
          const headers = { 'Content-Type': 'application/json' }
          const body = JSON.stringify({ role })
          const path = `/api/projects/${id}/members/${who}`
          return (await fetch(path, { method: 'PUT', headers, body })).status
        },
        [id, who, role],
      )
    assert.equal(await set('ed', 'viewer'), 200)
    const check = async what => {
      assert.deepEqual(await faults(page), [], what)
      assert.ok((await tooWide(page)) <= 0, `${what}: too wide`)
      await shot(page, `members-server-${what}-${view}`)
    }
    await page.reload()
    await page.locator('[data-composer]').waitFor()
    if (isNarrow(page)) await page.locator('nav').last().getByRole('button').first().click()
    await expect(selector(page)).toHaveAccessibleName(/(invitation to projects|项目邀请)/)
    await selector(page).click()
    await page.getByRole('button', { name: /^(Accept the invitation|接受加入)/ }).waitFor()
    await check('invitation')
    await page.getByRole('button', { name: /^(Accept the invitation|接受加入)/ }).press('Enter')
    await page.locator('[data-toast]').waitFor()
    await show(app, page, id)
    await check('viewer')
    await openMembers(page)
    await dialog(page).getByRole('listitem').nth(1).waitFor()
    await check('of-member')
    await page.keyboard.press('Escape')
    const own = await project(page, `Own ${view}`)
    await show(app, page, own)
    await openMembers(page)
    await dialog(page).locator('[name=member]').fill('somebody-with-a-rather-long-name')
    await dialog(page).locator('[name=member]').press('Enter')
    await dialog(page).getByRole('listitem').nth(1).waitFor()
    await check('of-owner')
  })
