// A server that requires a credential: the one-time link, the token, and what the browser keeps of them.
import assert from 'node:assert/strict'
import { withMiniclaw } from './fixtures.mjs'

const TOKEN = 'a-long-random-word-for-this-test'
const test = withMiniclaw({ env: { MINICLAW_TOKEN: TOKEN }, flags: ['--token'] })

/** Everything that a script in the page could read. */
const readable = page =>
  page.evaluate(() =>
    JSON.stringify([location.href, { ...localStorage }, { ...sessionStorage }, document.cookie]),
  )
const dialog = page => page.getByRole('dialog', { name: 'Sign in' })

async function signIn(page) {
  await dialog(page).locator('input').fill(TOKEN)
  await dialog(page).getByRole('button', { name: 'Sign in' }).click()
  await dialog(page).waitFor({ state: 'detached' })
}

/** A page of its own session: the link of the server works only once. */
async function openSignedIn(open) {
  const page = await open({ ready: dialog })
  await signIn(page)
  return page
}

/** Ends the session of the page. The network comes back: the stream is opened again, and no other request is sent. */
async function endSession(page) {
  await page.context().clearCookies()
  await page.evaluate(() => void window.dispatchEvent(new Event('online')))
  await dialog(page).waitFor()
}

test('before the sign-in, the page asks only for what that needs', async ({ open }) => {
  const asked = []
  const prepare = page =>
    page.on('request', request => {
      const { pathname } = new URL(request.url())
      if (pathname.startsWith('/api/')) asked.push(pathname)
    })
  const page = await open({ path: '/s/unknown', ready: dialog, prepare })
  // The page comes to rest: what would be tried again is tried within this time.
  await page.waitForTimeout(2_000)
  assert.deepEqual(asked, ['/api/status', ...asked.slice(1).map(() => '/api/auth/mode')])
  assert.ok(asked.length <= 4, asked.join(' '))
})

test('the printed link signs in once and leaves nothing in the address', async ({ app, open }) => {
  const link = await app.link()
  const path = link.slice(app.url.length)
  const first = await open({ path })
  await first.getByRole('textbox', { name: 'Message', exact: true }).fill('hello')
  const asked = await first.evaluate(() => fetch('/api/status').then(answer => answer.status))
  assert.equal(asked, 200)
  assert.ok(!(await readable(first)).includes(path.split('=')[1]))
  assert.equal(new URL(first.url()).hash, '')
  await first.reload()
  await first.getByRole('textbox', { name: 'Message', exact: true }).waitFor()
  assert.equal(await dialog(first).count(), 0, 'the cookie stays')
  await first.close()

  const second = await open({ path, ready: dialog })
  assert.ok(!(await readable(second)).includes(path.split('=')[1]))
})

test('the token is typed once and no script can read it afterwards', async ({ open }) => {
  const page = await open({ ready: dialog })
  await dialog(page).getByRole('textbox').or(dialog(page).locator('input')).first().fill('wrong')
  await dialog(page).getByRole('button', { name: 'Sign in' }).click()
  await dialog(page).getByRole('alert').waitFor()
  await signIn(page)
  assert.ok(!(await readable(page)).includes(TOKEN))
  const cookies = await page.context().cookies()
  assert.deepEqual(
    cookies.map(cookie => [cookie.httpOnly, cookie.sameSite]),
    [[true, 'Strict']],
  )
  assert.ok(!cookies[0].value.includes(TOKEN))
})

test('a session that ends shows the sign-in, and the page continues afterwards', async ({ open }) => {
  const page = await openSignedIn(open)
  const message = page.getByRole('textbox', { name: 'Message', exact: true })
  await message.fill('not sent yet')
  await endSession(page)
  await signIn(page)
  await page.getByText('Connected', { exact: true }).waitFor()
  assert.equal(await message.inputValue(), 'not sent yet')
})

test('a session that ends while the settings are open covers them, until the person signs in', async ({
  open,
}) => {
  const page = await openSignedIn(open)
  const settings = page.getByRole('dialog', { name: 'Settings' })
  await page.keyboard.press('ControlOrMeta+Comma')
  await settings.waitFor()
  const box = await settings.boundingBox()
  await endSession(page)
  assert.equal(await settings.count(), 0, 'a screen reader does not find the settings')
  assert.equal(await page.title(), 'miniclaw')
  assert.ok(
    await page.evaluate(
      ([x, y]) => document.elementFromPoint(x, y).closest('[role=dialog], main') === null,
      [box.x + 8, box.y + 8],
    ),
    'the settings are covered',
  )
  await page.keyboard.press('Escape')
  await page.keyboard.press('ControlOrMeta+k')
  for (let i = 0; i < 4; i++) {
    await page.keyboard.press('Tab')
    assert.ok(
      await page.evaluate(() =>
        document.activeElement.closest('[role=dialog]')?.querySelector('[type=password]'),
      ),
      'the focus stays in the sign-in',
    )
  }
  assert.equal(await page.getByRole('dialog').count(), 1)
  await signIn(page)
  await settings.waitFor()
  assert.equal(await dialog(page).count(), 0)
})

test('signing out clears the browser, and the page asks for the token again', async ({ app, open }) => {
  const page = await openSignedIn(open)
  const message = page.getByRole('textbox', { name: 'Message', exact: true })
  await message.fill('a secret plan')
  await page.waitForFunction(() => Object.values(localStorage).some(kept => kept.includes('a secret plan')))
  const before = await page.context().cookies()
  await page.keyboard.press('ControlOrMeta+Comma')
  await page.getByRole('dialog', { name: 'Settings' }).getByRole('button', { name: 'Sign out' }).click()
  await dialog(page).waitFor()
  await page.getByText('Signed out', { exact: true }).waitFor()
  assert.equal(await page.getByText(/cannot be reached|Disconnected/).count(), 0, 'the server can be reached')
  assert.ok(!(await readable(page)).includes('a secret plan'))
  assert.deepEqual(await page.context().cookies(), [])
  const [{ name, value }] = before
  const old = await fetch(`${app.url}/api/status`, { headers: { cookie: `${name}=${value}` } })
  assert.equal(old.status, 401, 'the old cookie opens nothing')
})

test('signing out reaches the other tabs, except for text that only they have', async ({ open }) => {
  const page = await openSignedIn(open)
  const sibling = async () => {
    const tab = await page.context().newPage()
    await tab.goto(page.url())
    await tab.getByText('Connected', { exact: true }).waitFor()
    return tab
  }
  const [idle, editing] = [await sibling(), await sibling()]
  await idle.getByRole('textbox', { name: 'Message', exact: true }).fill('a secret plan')
  await editing.keyboard.press('ControlOrMeta+p')
  await editing.getByRole('combobox').fill('soul')
  await editing.getByRole('option', { name: 'workspace/SOUL.md' }).click()
  const text = editing.locator('#pane-right .cm-content')
  await text.click()
  await editing.keyboard.type('only here ')
  await text.getByText('only here').waitFor()

  await page.keyboard.press('ControlOrMeta+Comma')
  await page.getByRole('dialog', { name: 'Settings' }).getByRole('button', { name: 'Sign out' }).click()
  for (const tab of [page, idle, editing]) await dialog(tab).waitFor()
  assert.ok(!(await readable(idle)).includes('a secret plan'))
  assert.equal(await idle.locator('textarea').inputValue(), '', 'the draft is gone')
  await signIn(editing)
  await text.getByText('only here').waitFor()
})
