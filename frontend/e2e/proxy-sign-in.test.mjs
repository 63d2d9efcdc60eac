// Sign-in by a proxy in front of a real server: the page asks for nothing, and says why if somebody is refused.
import assert from 'node:assert/strict'
import { request as ask, createServer } from 'node:http'
import { expect } from '@playwright/test'
import { ADMIN, account, dialog, multi, tooWide, VIEWS } from './accounts.mjs'
import { faults, withMiniclaw } from './fixtures.mjs'
import { openPage, shot } from './harness.mjs'

const SECRET = 'between-proxy-and-server'
const test = withMiniclaw(
  multi(`host_names: [127.0.0.2]
trusted_proxies: [127.0.0.1]
proxy_sign_in:
  header: Remote-User
  create: true
  logout_url: /oauth2/sign_out
  secret_header: X-Proxy-Secret
  secret: ${SECRET}
`),
)

/** A proxy that names the person in `who.name` to the server, and replaces what its client says; its own sign-out. */
async function startProxy(app, who) {
  const server = createServer((incoming, outgoing) => {
    if (incoming.url === '/oauth2/sign_out') {
      outgoing.writeHead(200, { 'Content-Type': 'text/html' })
      return outgoing.end('<h1>Signed out of the proxy</h1>')
    }
    const { 'remote-user': _, 'x-proxy-secret': __, ...headers } = incoming.headers
    Object.assign(headers, { 'x-proxy-secret': SECRET, ...(who.name && { 'remote-user': who.name }) })
    const { hostname } = new URL(app.url)
    const { url: path, method } = incoming
    const sent = ask({ hostname, port, path, method, headers }, answer => {
      outgoing.writeHead(answer.statusCode, answer.headers)
      answer.pipe(outgoing)
    })
    sent.on('error', () => outgoing.destroy())
    outgoing.on('close', () => sent.destroy())
    incoming.pipe(sent)
  })
  // At the port of the server: a page is served only at that one, or at the usual one.
  const { port } = new URL(app.url)
  await new Promise(resolve => server.listen(Number(port), '127.0.0.2', resolve))
  return {
    url: `http://127.0.0.2:${port}`,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const composer = page => page.locator('[data-composer]')

/** Opens the page through a proxy that names this person, and ends both after `use`. */
async function through({ app, browser }, name, use, given = {}) {
  await account(app, ADMIN)
  const who = { name }
  const proxy = await startProxy(app, who)
  try {
    const { page, close } = await openPage(browser, { url: proxy.url }, { ...given })
    await use({ page, who })
    await close()
  } finally {
    proxy.stop()
  }
}

test('whom the proxy names is signed in without being asked, and signs out at the proxy', async ({
  app,
  browser,
}) => {
  const use = async ({ page }) => {
    await composer(page).waitFor()
    await expect(dialog(page)).toHaveCount(0)
    await page.locator('#pane-left').getByRole('button', { name: 'Signed in as cleo' }).click()
    await expect(page.getByRole('menuitem', { name: 'Account', exact: true })).toBeVisible()
    await shot(page, 'proxy-menu')
    await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click()
    await page.getByRole('heading', { name: 'Signed out of the proxy' }).waitFor()
  }
  await through({ app, browser }, 'cleo', use, { ready: composer })
})

test('the proxy names another person, and the page becomes theirs', async ({ app, browser }) => {
  const use = async ({ page, who }) => {
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('a plan of cleo')
    who.name = 'dora'
    await page.reload()
    await composer(page).waitFor()
    await page.locator('#pane-left').getByRole('button', { name: 'Signed in as dora' }).waitFor()
    await expect(page.getByRole('textbox', { name: 'Message', exact: true })).toHaveValue('')
  }
  await through({ app, browser }, 'cleo', use, { ready: composer })
})

for (const [view, look] of VIEWS)
  test(`somebody whom the proxy cannot sign in is told why: ${view}`, async ({ app, browser }) => {
    const use = async ({ page, who }) => {
      const alert = dialog(page).getByRole('alert')
      await expect(alert).toContainText(/\S/)
      await expect(alert).toContainText(look.lang === 'zh' ? /管理员/ : /administrator/)
      assert.deepEqual(await faults(page), [])
      assert.ok((await tooWide(page)) <= 0)
      await shot(page, `proxy-refused-${view}`)
      who.name = 'cleo'
      await dialog(page)
        .getByRole('button', { name: /^(Try again|重试)$/ })
        .click()
      await composer(page).waitFor()
    }
    const ready = page => dialog(page).getByRole('alert')
    await through({ app, browser }, 'ann, bob', use, { ...look, ready })
  })
