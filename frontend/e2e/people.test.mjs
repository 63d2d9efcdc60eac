// The account of a person, and the administrator's page, on a server for several people.
import assert from 'node:assert/strict'
import { expect } from '@playwright/test'
import { account, fakePeople } from './fake-people.mjs'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { shot } from './harness.mjs'

const test = withMiniclaw()

const ANN = account('ann', { role: 'admin', email: 'ann@example.com' })
const BOB = account('bob', {
  last_login_at: '2026-11-20T08:30:00Z',
  email: 'bob.with.a.long.address@mail.example.com',
})
const CLEO = account('cleo', { is_active: false })
const AUDIT = [
  { event: 'account_changed', actor: ANN.id, account: BOB.id, detail: { is_active: false } },
  { event: 'settings_changed', actor: ANN.id, detail: { keys: ['max_minutes', 'host_names'] } },
  { event: 'sign_in', outcome: 'refused', reason: 'wrong_password', account: BOB.id, unrecorded: 12 },
  { event: 'sign_in', actor: BOB.id, account: BOB.id, address: '2001:db8::1' },
].map((entry, n) => ({
  id: `e${n}`,
  at: '2026-11-26T20:15:00Z',
  outcome: 'done',
  address: '192.0.2.7',
  ...entry,
  actor_name: entry.actor?.slice(2),
  account_name: entry.account?.slice(2),
}))
const dialog = page => page.getByRole('dialog')
const message = page => page.getByRole('textbox', { name: 'Message', exact: true })

/** A page on which this person has signed in. */
async function openAs(open, name, world = {}, given = {}) {
  const served = { accounts: [ANN, BOB, CLEO].map(person => ({ ...person })), ...world }
  const page = await open({
    ready: page => dialog(page).locator('[name=password]'),
    ...given,
    prepare: page => fakePeople(page.context(), served),
  })
  await dialog(page).locator('[name=username]').fill(name)
  await dialog(page).locator('[name=password]').fill(`${name}-password`)
  await dialog(page).locator('[name=password]').press('Enter')
  await dialog(page).waitFor({ state: 'detached' })
  await page.locator('[data-composer]').waitFor()
  return { page, world: served }
}

/** Opens the menu of the account, in the header of the conversations. */
async function openMenu(page) {
  if (page.viewportSize().width < 768) await page.locator('nav').last().getByRole('button').first().click()
  await page
    .locator('#pane-left')
    .getByRole('button', { name: /^(Signed in as|已登录：)/ })
    .click()
  await page.getByRole('menuitem').first().waitFor()
}
async function choose(page, en, zh = en) {
  await openMenu(page)
  await page.getByRole('menuitem', { name: new RegExp(`^(${en}|${zh})$`) }).click()
  await dialog(page).waitFor()
}
/** The controls of the dialog that are hard to touch; the target of one with `reach` is 8 px higher than it looks. */
const tooSmall = page =>
  page.evaluate(() =>
    [...document.querySelectorAll('[role=dialog] :is(button, input, select)')].flatMap(element => {
      const { width, height } = element.getBoundingClientRect()
      const high = height + (element.classList.contains('reach') ? 8 : 0)
      const hidden = element.getAttribute('aria-hidden') === 'true'
      const name = element.ariaLabel ?? element.textContent ?? ''
      return hidden || (width >= 44 && high >= 44) ? [] : [`${name}: ${width} × ${high}`]
    }),
  )
const tab = (page, n) => dialog(page).getByRole('tab').nth(n)

for (const { look, small, given } of LOOKS)
  test(`the account and the people: ${look}`, async ({ open }) => {
    const invitations = [
      { id: 'i0', code: 'old', created_at: '2026-02-01T10:00:00Z', expires_at: null, used_by: 'bob' },
    ]
    const { page } = await openAs(open, 'ann', { invitations, audit: AUDIT }, given)
    const check = async name => {
      assert.deepEqual(await faults(page), [], name)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.ok(wide <= 0, `${name}: ${wide} px too wide`)
      if (small) assert.deepEqual(await tooSmall(page), [], name)
      await shot(page, `people-${name}-${look}`)
    }
    await openMenu(page)
    await check('menu')
    await page.keyboard.press('Escape')
    if (small) await page.locator('nav').last().getByRole('button').nth(1).click()
    await choose(page, 'Account', '账户')
    await dialog(page).locator('[autocomplete=email]').waitFor()
    await check('profile')
    await tab(page, 1).click()
    await check('password')
    await tab(page, 2).click()
    await dialog(page).getByRole('textbox').fill('backup')
    await dialog(page).getByRole('textbox').press('Enter')
    await dialog(page).getByText('mct_t1').waitFor()
    await dialog(page).getByRole('listitem').waitFor()
    await check('tokens')
    await page.keyboard.press('Escape')
    if (small) await page.locator('nav').last().getByRole('button').nth(1).click()
    await choose(page, 'People', '用户管理')
    await dialog(page).getByRole('button', { name: /bob/ }).click()
    await check('person-menu')
    await page.getByRole('menuitem', { name: /^(Reset password|重置密码)/ }).click()
    await dialog(page).getByRole('alert').waitFor()
    await check('people')
    await dialog(page)
      .getByRole('button', { name: /^(Reset password|重置密码)$/ })
      .click()
    await dialog(page).getByText('maple-otter-quartz-19').waitFor()
    await check('reset')
    await tab(page, 1).click()
    await dialog(page)
      .getByRole('button', { name: /^(Create invitation|创建邀请)$/ })
      .click()
    await dialog(page).getByText('#invitation=invite-i2').waitFor()
    await expect(dialog(page).getByRole('listitem')).toHaveCount(2)
    await check('invitations')
    await tab(page, 2).click()
    await expect(dialog(page).locator('tbody tr')).toHaveCount(4)
    await check('audit')
    await dialog(page).getByRole('combobox').nth(1).selectOption('refused')
    await expect(dialog(page).locator('tbody tr')).toHaveCount(1)
    await page.keyboard.press('Escape')
  })

test('the menu of the account is worked by keyboard, and an ordinary person manages nobody', async ({
  open,
}) => {
  const { page, world } = await openAs(open, 'bob')
  const button = page.locator('#pane-left').getByRole('button', { name: 'Signed in as bob' })
  await button.focus()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('menuitem')).toHaveText([
    'Account',
    'Change password',
    'Access tokens',
    'Sign out everywhere',
    'Sign out',
  ])
  await expect(page.getByRole('menuitem').first()).toBeFocused()
  await page.keyboard.press('Enter')
  const name = dialog(page).getByLabel('User name')
  await expect(name).toBeFocused()
  await name.fill('ann')
  await page.keyboard.press('Enter')
  await expect(dialog(page).getByRole('alert')).toContainText('taken')
  await name.fill('bobby')
  await dialog(page).getByLabel('Email').fill('')
  await page.keyboard.press('Enter')
  await expect(dialog(page).getByRole('status').first()).toHaveText('Saved.')
  assert.deepEqual([world.accounts[1].username, world.accounts[1].email], ['bobby', null])
  await page.keyboard.press('Escape')
  await expect(page.locator('#pane-left').getByRole('button', { name: 'Signed in as bobby' })).toBeFocused()
  await page.keyboard.press('ControlOrMeta+k')
  await page.getByRole('combobox').fill('People')
  assert.equal(await page.getByRole('option', { name: 'People', exact: true }).count(), 0)
  assert.ok(!world.asked.some(call => call.includes('/admin/')))
})

test('a password is changed, and the browser stays signed in', async ({ open }) => {
  const { page, world } = await openAs(open, 'bob')
  await choose(page, 'Change password')
  const field = name => dialog(page).locator(`[name=${name}]`)
  await expect(field('username')).toHaveValue('bob')
  await expect(field('current')).toHaveAttribute('autocomplete', 'current-password')
  await expect(field('new')).toHaveAttribute('autocomplete', 'new-password')
  await field('current').fill('bob-passwort')
  await field('new').fill('short')
  await field('new').press('Enter')
  await expect(dialog(page).getByRole('alert')).toHaveText('This isn’t your current password.')
  await expect(field('current')).toBeFocused()
  await field('current').fill('bob-password')
  await field('current').press('Enter')
  await expect(dialog(page).getByRole('alert')).toContainText('at least 8 characters')
  await expect(field('new')).toBeFocused()
  await field('new').fill('a better password')
  await field('new').press('Enter')
  await dialog(page).getByText('Password changed.').waitFor()
  await expect(field('current')).toHaveValue('')
  assert.equal(world.accounts[1].password, 'a better password')
  assert.equal(await dialog(page).count(), 1, 'the sign-in does not appear')
})

test('an access token is shown once, copied, and deleted', async ({ open }) => {
  const { page, world } = await openAs(
    open,
    'bob',
    {},
    { permissions: ['clipboard-read', 'clipboard-write'] },
  )
  await choose(page, 'Access tokens')
  await dialog(page).getByText('No access tokens.').waitFor()
  await dialog(page).getByLabel('Name').fill('backup')
  await dialog(page).getByLabel('Valid for').selectOption('30')
  await dialog(page).getByLabel('Allows').selectOption('The agent, from programs')
  await dialog(page).getByRole('button', { name: 'Create token' }).click()
  const secret = dialog(page).getByRole('group', { name: 'New access token “backup”' })
  await expect(secret).toBeFocused()
  await secret.getByRole('button', { name: 'Copy: Access token' }).click()
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'mct_t1_shown-only-once')
  assert.ok(world.tokens[0].expires_at)
  assert.equal(world.tokens[0].scope, 'ask')
  await dialog(page).getByRole('listitem').getByText('The agent, from programs').waitFor()
  await page.keyboard.press('Escape')
  await choose(page, 'Access tokens')
  await dialog(page).getByRole('listitem').waitFor()
  assert.equal(await dialog(page).getByText('mct_').count(), 0, 'it is not shown again')
  await dialog(page).getByRole('button', { name: 'Delete access token “backup”' }).click()
  await expect(dialog(page).getByRole('button', { name: 'Cancel' })).toBeFocused()
  await dialog(page).getByRole('button', { name: 'Delete', exact: true }).click()
  await dialog(page).getByText('No access tokens.').waitFor()
  assert.equal(world.tokens.length, 0)
})

test('signing out clears the browser, here or everywhere, also from the settings', async ({ open }) => {
  const { page, world } = await openAs(open, 'bob')
  const readable = () => page.evaluate(() => JSON.stringify({ ...localStorage }))
  await message(page).fill('a secret plan')
  await page.waitForFunction(() => Object.values(localStorage).some(kept => kept.includes('a secret plan')))
  await page.keyboard.press('ControlOrMeta+Comma')
  await dialog(page).getByRole('button', { name: 'Signed in as bob' }).click()
  await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click()
  await dialog(page).locator('[name=password]').waitFor()
  assert.ok(!/secret plan|p-bob/.test(await readable()))
  assert.equal(world.sessions.size, 0)
  assert.deepEqual(await page.context().cookies(), [])

  await dialog(page).locator('[name=username]').fill('bob')
  await dialog(page).locator('[name=password]').fill('bob-password')
  await page.keyboard.press('Enter')
  await message(page).waitFor()
  world.sessions.set('elsewhere', 'p-bob')
  await choose(page, 'Sign out everywhere')
  assert.deepEqual(await faults(page), [])
  await shot(page, 'people-everywhere')
  await dialog(page).getByRole('button', { name: 'Sign out everywhere' }).click()
  await dialog(page).locator('[name=password]').waitFor()
  assert.equal(world.sessions.size, 0)
})

test('an administrator disables, enables and promotes people, and never themselves', async ({ open }) => {
  const { page, world } = await openAs(open, 'ann')
  world.sessions.set('b', 'p-bob')
  await choose(page, 'People')
  const row = name => dialog(page).getByRole('listitem').filter({ hasText: name })
  await row('ann').getByText('You', { exact: true }).waitFor()
  assert.equal(await row('ann').getByRole('button').count(), 0)
  await row('bob')
    .getByText(/active|never signed in/)
    .first()
    .waitFor()
  const act = async (name, label) => {
    await row(name)
      .getByRole('button', { name: `Actions for ${name}` })
      .press('Enter')
    await page.getByRole('menuitem', { name: label }).press('Enter')
  }
  await act('bob', 'Disable account')
  await expect(row('bob').getByRole('button', { name: 'Cancel' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(row('bob').getByRole('button', { name: 'Actions for bob' })).toBeFocused()
  assert.equal(world.accounts[1].is_active, true)
  await act('bob', 'Disable account')
  await row('bob').getByRole('button', { name: 'Disable account' }).press('Enter')
  await row('bob').getByText('Disabled').waitFor()
  await expect(row('bob').getByRole('button', { name: 'Actions for bob' })).toBeFocused()
  assert.ok(!world.sessions.has('b'))
  await act('bob', 'Enable account')
  await expect(row('bob').getByText('Disabled')).toHaveCount(0)
  await act('bob', 'Make administrator')
  await row('bob').getByRole('button', { name: 'Make administrator' }).click()
  await row('bob').getByText('Administrator').waitFor()
  await act('bob', 'Make user')
  await expect(row('bob').getByText('Administrator')).toHaveCount(0)
  await act('bob', 'Reset password')
  await row('bob').getByRole('button', { name: 'Reset password' }).click()
  const secret = row('bob').getByRole('group', { name: 'New password for bob' })
  await expect(secret).toBeFocused()
  await expect(secret).toContainText(world.accounts[1].password)
})

test('an invitation leads to an account, and its list never tells the code', async ({ open, app }) => {
  const { page, world } = await openAs(open, 'ann')
  await choose(page, 'People')
  await tab(page, 1).click()
  await dialog(page).getByText('No invitations.').waitFor()
  await dialog(page).getByRole('button', { name: 'Create invitation' }).click()
  const link = await dialog(page).getByText('/#invitation=').innerText()
  assert.equal(link, `${app.url}/#invitation=${world.invitations[0].code}`)
  await dialog(page).getByText('Not used yet').waitFor()
  await tab(page, 0).click()
  await tab(page, 1).click()
  await dialog(page).getByText('Not used yet').waitFor()
  assert.equal(await dialog(page).getByText(world.invitations[0].code).count(), 0)
  await dialog(page)
    .getByRole('button', { name: /^Delete the invitation of / })
    .click()
  await dialog(page).getByText('No invitations.').waitFor()
  await expect(dialog(page).getByRole('button', { name: 'Create invitation' })).toBeFocused()
})

test('many people are found by their names', async ({ open }) => {
  const many = Array.from({ length: 40 }, (_, n) => account(`person-${n}`))
  const { page } = await openAs(open, 'ann', { accounts: [{ ...ANN }, ...many] })
  await choose(page, 'People')
  const rows = dialog(page).getByRole('listitem')
  await expect(rows).toHaveCount(41)
  await dialog(page).getByRole('searchbox').fill('person-39')
  await expect(rows).toHaveCount(1)
  await dialog(page).getByRole('searchbox').fill('nobody')
  await dialog(page).getByText('Nobody found.').waitFor()
})

test('a person who is disabled sees the sign-in, and why', async ({ open }) => {
  const { page, world } = await openAs(open, 'bob')
  world.accounts[1].is_active = false
  await page.evaluate(() => void window.dispatchEvent(new Event('online')))
  await dialog(page).locator('[name=password]').waitFor()
  await dialog(page).locator('[name=username]').fill('bob')
  await dialog(page).locator('[name=password]').fill('bob-password')
  await page.keyboard.press('Enter')
  await expect(dialog(page).getByRole('alert')).toContainText('This account is disabled.')
})

test('a server for one person shows no account, and is asked for its mode only', async ({ open }) => {
  const asked = []
  const page = await open({
    prepare: page =>
      page.on('request', request => {
        const { pathname } = new URL(request.url())
        if (pathname.startsWith('/api/auth') || pathname.startsWith('/api/admin')) asked.push(pathname)
      }),
  })
  await page.getByText('Connected', { exact: true }).waitFor()
  await page.keyboard.press('ControlOrMeta+k')
  await page.getByRole('combobox').fill('Sign out')
  assert.equal(await page.getByRole('option', { name: /Sign out/ }).count(), 0)
  await page.keyboard.press('Escape')
  assert.equal(await page.getByRole('button', { name: /^(Account|Signed in)/ }).count(), 0)
  await expect.poll(() => asked).toEqual(['/api/auth/mode'])
})
