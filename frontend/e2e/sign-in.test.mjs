// A server that asks for a credential: the one-time link, the token, and what stays of them in the browser.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openPage, startBrowser, startMiniclaw } from './harness.mjs'

const TOKEN = 'a-long-random-word-for-this-test'
let app
let browser
before(async () => {
  app = await startMiniclaw([], { MINICLAW_TOKEN: TOKEN }, undefined, ['--token'])
  browser = await startBrowser()
})
after(async () => {
  await browser.close()
  await app.stop()
})

/** Whatever a script in the page could read. */
const readable = page =>
  page.evaluate(() =>
    JSON.stringify([location.href, { ...localStorage }, { ...sessionStorage }, document.cookie]),
  )
const dialog = page => page.getByRole('dialog', { name: 'Sign in' })

test('the printed link signs in once and leaves nothing in the address', async () => {
  const link = await app.link()
  const path = link.slice(app.url.length)
  const first = await openPage(browser, app, { path })
  await first.page.getByRole('textbox', { name: 'Message', exact: true }).fill('hello')
  const asked = await first.page.evaluate(() => fetch('/api/status').then(answer => answer.status))
  assert.equal(asked, 200)
  assert.ok(!(await readable(first.page)).includes(path.split('=')[1]))
  assert.equal(new URL(first.page.url()).hash, '')
  await first.page.reload()
  await first.page.getByRole('textbox', { name: 'Message', exact: true }).waitFor()
  assert.equal(await dialog(first.page).count(), 0, 'the cookie stays')
  await first.close()

  const second = await openPage(browser, app, { path, ready: dialog })
  assert.ok(!(await readable(second.page)).includes(path.split('=')[1]))
  await second.close()
})

test('the token is typed once and no script can read it afterwards', async () => {
  const { page, close } = await openPage(browser, app, { ready: dialog })
  await dialog(page).getByRole('textbox').or(dialog(page).locator('input')).first().fill('wrong')
  await dialog(page).getByRole('button', { name: 'Sign in' }).click()
  await dialog(page).getByRole('alert').waitFor()
  await dialog(page).locator('input').fill(TOKEN)
  await dialog(page).getByRole('button', { name: 'Sign in' }).click()
  await dialog(page).waitFor({ state: 'detached' })
  assert.ok(!(await readable(page)).includes(TOKEN))
  const cookies = await page.context().cookies()
  assert.deepEqual(
    cookies.map(cookie => [cookie.httpOnly, cookie.sameSite]),
    [[true, 'Strict']],
  )
  assert.ok(!cookies[0].value.includes(TOKEN))
  await close()
})

test('a session that ends while the page is open shows the sign-in, and the page goes on afterwards', async () => {
  const path = (await app.link()).slice(app.url.length)
  const { page, close } = await openPage(browser, app, { path })
  const message = page.getByRole('textbox', { name: 'Message', exact: true })
  await message.fill('not sent yet')
  await page.context().clearCookies()
  // The network comes back: the stream is opened anew, and nothing else is asked for.
  await page.evaluate(() => void window.dispatchEvent(new Event('online')))
  await dialog(page).waitFor()
  await dialog(page).locator('input').fill(TOKEN)
  await dialog(page).getByRole('button', { name: 'Sign in' }).click()
  await dialog(page).waitFor({ state: 'detached' })
  await page.getByText('Connected', { exact: true }).waitFor()
  assert.equal(await message.inputValue(), 'not sent yet')
  await close()
})
