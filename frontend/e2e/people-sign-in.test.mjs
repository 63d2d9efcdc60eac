// The sign-in of a server for several people: accounts, invitations, the first account, and what the browser keeps.
import assert from 'node:assert/strict'
import { expect } from '@playwright/test'
import { account, fakePeople } from './fake-people.mjs'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { shot } from './harness.mjs'

const test = withMiniclaw()

const ANN = account('ann', { role: 'admin', email: 'ann@example.com' })
const BOB = account('bob')
const gate = page => page.getByRole('dialog')
const field = (page, name) => gate(page).locator(`[name=${name}]`)
const send = (page, name = 'Sign in') => gate(page).getByRole('button', { name, exact: true })
const message = page => page.getByRole('textbox', { name: 'Message', exact: true })
/** Everything that a script in the page could read. */
const readable = page =>
  page.evaluate(() =>
    JSON.stringify([location.href, { ...localStorage }, { ...sessionStorage }, document.cookie]),
  )

/** A page with the sign-in, on a server with these accounts. */
async function openSignIn(open, world = {}, given = {}) {
  const served = { accounts: [{ ...ANN }, { ...BOB }], ...world }
  const page = await open({
    ready: page => field(page, 'password'),
    ...given,
    prepare: page => fakePeople(page.context(), served),
  })
  return { page, world: served }
}

async function signIn(page, name) {
  await field(page, 'username').fill(name)
  await field(page, 'password').fill(`${name}-password`)
  await field(page, 'password').press('Enter')
  await gate(page).waitFor({ state: 'detached' })
  await message(page).waitFor()
}

/** Ends the session of the page, as the server would. */
async function endSession(page, world) {
  world.sessions.clear()
  await page.evaluate(() => void window.dispatchEvent(new Event('online')))
  await gate(page).waitFor()
}

for (const { look, given } of LOOKS)
  test(`the sign-in with accounts: ${look}`, async ({ open }) => {
    const zh = given.lang === 'zh'
    const { page, world } = await openSignIn(open, {}, given)
    const check = async name => {
      assert.deepEqual(await faults(page), [], name)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.ok(wide <= 0, `${name}: ${wide} px too wide`)
      await shot(page, `people-${name}-${look}`)
    }
    await check('sign-in')
    await field(page, 'username').fill('bob')
    await field(page, 'password').fill('wrong')
    await field(page, 'password').press('Enter')
    await gate(page).getByRole('alert').waitFor()
    await check('wrong')
    await gate(page)
      .getByRole('button', { name: zh ? '我有邀请码' : 'I have an invitation' })
      .click()
    await field(page, 'invitation').waitFor()
    await check('register')
    world.accounts = []
    await page.reload()
    await field(page, 'setup_code').waitFor()
    await check('first')
  })

test('an account is opened by name and password, which password managers find', async ({ open }) => {
  const { page } = await openSignIn(open)
  await expect(gate(page)).toHaveAccessibleName('Sign in to miniclaw')
  await expect(field(page, 'username')).toBeFocused()
  await expect(gate(page).getByLabel('User name')).toHaveAttribute('autocomplete', 'username')
  const password = gate(page).getByLabel('Password', { exact: true })
  await expect(password).toHaveAttribute('autocomplete', 'current-password')
  await expect(password).toHaveAttribute('type', 'password')

  await page.keyboard.press('Enter')
  await expect(gate(page).getByRole('alert')).toHaveText('Enter your user name.')
  await expect(field(page, 'username')).toBeFocused()
  await page.keyboard.type('Ann')
  await page.keyboard.press('Enter')
  await expect(gate(page).getByRole('alert')).toHaveText('Enter your password.')
  await expect(field(page, 'password')).toBeFocused()
  await expect(field(page, 'password')).toHaveAttribute('aria-invalid', 'true')

  await page.keyboard.type('ann-passwort')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await expect(password).toHaveAttribute('type', 'text')
  await gate(page).getByRole('button', { name: 'Hide password' }).click()
  await expect(password).toHaveValue('ann-passwort')
  await password.press('Enter')
  await expect(gate(page).getByRole('alert')).toContainText('Wrong user name or password.')
  await expect(password).toBeFocused()

  await password.fill('ann-password')
  await password.press('Enter')
  await message(page).waitFor()
  await page.getByText('Connected', { exact: true }).waitFor()
  assert.equal(await gate(page).count(), 0)
  assert.ok(!/secret-token|ann-pass/.test(await readable(page)), 'no script can read the session')
  await page.reload()
  await message(page).waitFor()
  assert.equal(await gate(page).count(), 0, 'the cookie stays')
})

test('after too many attempts the time to wait is counted down', async ({ open }) => {
  const { page, world } = await openSignIn(open, { wait: 90 })
  await page.clock.install()
  await field(page, 'username').fill('bob')
  for (const wrong of ['one', 'two', 'three']) {
    await field(page, 'password').fill(wrong)
    await field(page, 'password').press('Enter')
    await expect(gate(page).getByRole('alert')).toContainText('Wrong')
    await expect(send(page)).toBeEnabled()
  }
  await field(page, 'password').fill('bob-password')
  await field(page, 'password').press('Enter')
  await expect(gate(page).getByRole('timer')).toHaveText(/^You can try again in 1:[23]\d\.$/)
  await expect(gate(page).getByRole('alert')).toHaveText('Too many failed attempts.')
  await expect(send(page)).toBeDisabled()
  assert.deepEqual(await faults(page), [])
  await shot(page, 'people-wait')
  const attempts = () => world.asked.filter(call => call === 'POST /api/auth/login').length
  const made = attempts()
  await field(page, 'password').press('Enter')
  assert.equal(attempts(), made, 'no attempt is made meanwhile')
  world.blockedUntil = 0
  await page.clock.fastForward('01:31')
  await expect(gate(page).getByRole('status')).toHaveText('You can try again now.')
  await expect(field(page, 'password')).toHaveValue('bob-password')
  await field(page, 'password').press('Enter')
  await message(page).waitFor()
})

test('a disabled account says so', async ({ open }) => {
  const { page } = await openSignIn(open, { accounts: [ANN, { ...BOB, is_active: false }] })
  await field(page, 'username').fill('bob')
  await field(page, 'password').fill('bob-password')
  await field(page, 'password').press('Enter')
  await expect(gate(page).getByRole('alert')).toContainText('This account is disabled.')
})

test('a link with an invitation makes an account and signs in', async ({ open }) => {
  const invitations = [{ id: 'i1', code: 'abc-123', created_at: '', expires_at: null, used_by: null }]
  const { page, world } = await openSignIn(open, { invitations }, { path: '/#invitation=abc-123' })
  await expect(gate(page)).toHaveAccessibleName('Create account')
  await expect(field(page, 'invitation')).toHaveValue('abc-123')
  await expect(field(page, 'password')).toHaveAttribute('autocomplete', 'new-password')
  await field(page, 'username').fill('BOB')
  await field(page, 'password').fill('short')
  await send(page, 'Create account').click()
  await expect(gate(page).getByRole('alert')).toContainText('at least 8 characters')
  await expect(field(page, 'password')).toBeFocused()
  await field(page, 'password').fill('cleo-password')
  await send(page, 'Create account').click()
  await expect(gate(page).getByRole('alert')).toHaveText('This user name is taken. Choose another one.')
  await expect(field(page, 'username')).toBeFocused()
  await field(page, 'username').fill('cleo')
  await field(page, 'email').fill('cleo@example.com')
  await field(page, 'email').press('Enter')
  await message(page).waitFor()
  await expect(gate(page)).toHaveCount(0)
  assert.equal(new URL(page.url()).hash, '')
  assert.equal(world.invitations[0].used_by, 'p-cleo')
  assert.equal(world.accounts.at(-1).email, 'cleo@example.com')
})

test('anybody can register where registration is open, and nobody where it is closed', async ({ open }) => {
  const { page, world } = await openSignIn(open, { registration: 'closed' })
  assert.equal(await gate(page).getByRole('button').count(), 2, 'show the password, and sign in')
  world.registration = 'open'
  await page.reload()
  await gate(page).getByRole('button', { name: 'Create account' }).click()
  await expect(field(page, 'username')).toBeFocused()
  assert.equal(await field(page, 'invitation').count(), 0)
  await gate(page).getByRole('button', { name: 'I already have an account' }).click()
  await expect(gate(page)).toHaveAccessibleName('Sign in to miniclaw')
  await gate(page).getByRole('button', { name: 'Create account' }).click()
  await field(page, 'username').fill('dora')
  await field(page, 'password').fill('dora-password')
  await send(page, 'Create account').click()
  await message(page).waitFor()
})

test('the first account needs the code that the server shows', async ({ open }) => {
  const { page, world } = await openSignIn(open, { accounts: [], setupCode: '7-up' })
  await expect(gate(page)).toHaveAccessibleName('Set up this server')
  await field(page, 'username').fill('root')
  await field(page, 'password').fill('root-password')
  await send(page, 'Create account').click()
  await expect(gate(page).getByRole('alert')).toHaveText('Enter the setup code.')
  await field(page, 'setup_code').fill('7-down')
  await send(page, 'Create account').click()
  await expect(gate(page).getByRole('alert')).toContainText('This isn’t the setup code')
  await expect(field(page, 'setup_code')).toBeFocused()
  await field(page, 'setup_code').fill('7-up')
  await field(page, 'setup_code').press('Enter')
  await message(page).waitFor()
  assert.equal(world.accounts[0].role, 'admin')
})

test('a session that ends covers the page, and the same person continues', async ({ open }) => {
  const { page, world } = await openSignIn(open)
  await signIn(page, 'bob')
  await message(page).fill('not sent yet')
  await endSession(page, world)
  await page.keyboard.press('ControlOrMeta+k')
  assert.equal(await page.getByRole('dialog').count(), 1, 'no command runs')
  await signIn(page, 'bob')
  await page.getByText('Connected', { exact: true }).waitFor()
  await expect(message(page)).toHaveValue('not sent yet')
})

test('another person who signs in sees nothing of the one before', async ({ open }) => {
  const { page, world } = await openSignIn(open)
  await signIn(page, 'bob')
  await message(page).fill('a plan of Bob')
  await page.waitForFunction(() => Object.values(localStorage).some(kept => kept.includes('a plan of Bob')))
  const tab = await page.context().newPage()
  await tab.goto(page.url())
  await expect(message(tab)).toHaveValue('a plan of Bob')

  await endSession(page, world)
  await signIn(page, 'ann')
  await expect(message(page)).toHaveValue('')
  // The other tab, which shows Bob's page, becomes Ann's.
  await expect(message(tab)).toHaveValue('')
  await message(tab).fill('a plan of Ann')
  await endSession(page, world)
  await signIn(page, 'bob')
  await expect(message(page)).toHaveValue('a plan of Bob')
})
