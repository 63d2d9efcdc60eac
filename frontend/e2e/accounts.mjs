// People on a real server for several people, who sign in through the page.
import assert from 'node:assert/strict'
import { MOBILE } from './harness.mjs'

/** The options of a miniclaw for several people; `config` is added to its config.yml. */
export const multi = (config = '', more = {}) => ({
  config: `auth_mode: multi\n${config}`,
  env: { MINICLAW_JWT_SECRET: '0123456789abcdef0123456789abcdef-e2e' },
  ...more,
})

/** The administrator, whose account is the first. */
export const ADMIN = 'ada'
export const PASSWORD = 'correct horse battery staple'
export const dialog = page => page.getByRole('dialog')
const field = (page, name) => dialog(page).locator(`[name=${name}]`)
const gate = page => field(page, 'password')

const post = (app, path, body, headers = {}) =>
  fetch(app.url + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
const login = (app, username) => post(app, '/api/auth/login', { username, password: PASSWORD })
const register = (app, body) => post(app, '/api/auth/register', { ...body, password: PASSWORD })

/** Makes the account of a person, unless it is there; the first one is the administrator `admin`. */
export async function account(app, username) {
  if ((await login(app, username)).ok) return
  if (username === ADMIN) {
    assert.ok((await register(app, { username, setup_code: await app.setupCode() })).ok)
    return
  }
  await account(app, ADMIN)
  const { data } = await (await login(app, ADMIN)).json()
  const authorization = { Authorization: `Bearer ${data.token}` }
  const made = await (await post(app, '/api/admin/invitations', {}, authorization)).json()
  assert.ok((await register(app, { username, invitation: made.data.code })).ok)
}

/** Signs in through the page, with an account that is made if it is not there. */
export async function signedIn({ open, app }, username, given = {}) {
  await account(app, username)
  const page = await open({ ready: gate, ...given })
  await field(page, 'username').fill(username)
  await gate(page).fill(PASSWORD)
  await gate(page).press('Enter')
  await dialog(page).waitFor({ state: 'detached' })
  await page.locator('[data-composer]').waitFor()
  return page
}

/** What the server answers to a person, from their page. */
export const asked = (page, path) =>
  page.evaluate(async path => {
    const answer = await fetch(path)
    return { status: answer.status, body: await answer.json().catch(() => null) }
  }, path)

/** How pages are looked at: narrow and Chinese; wide, too, with MINICLAW_THOROUGH, and all when screenshots are taken. */
export const VIEWS = [
  ['wide-light-en', { theme: 'light', lang: 'en' }],
  ['wide-dark-zh', { theme: 'dark', lang: 'zh' }],
  ['narrow-dark-en', { theme: 'dark', lang: 'en', ...MOBILE }],
  ['narrow-light-zh', { theme: 'light', lang: 'zh', ...MOBILE }],
].filter((_, at) => process.env.SHOTS || at === 3 || (process.env.MINICLAW_THOROUGH && at === 0))

export const isNarrow = page => page.viewportSize().width < 768

/** How many pixels the page is too wide. */
export const tooWide = page => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
