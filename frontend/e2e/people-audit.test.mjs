// The audit log and the tools of a person, on a real server for several people.
import assert from 'node:assert/strict'
import { expect } from '@playwright/test'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { shot } from './harness.mjs'

const test = withMiniclaw({
  config: 'auth_mode: multi\ntools: {weather: false}\n',
  env: { MINICLAW_JWT_SECRET: '0123456789abcdef0123456789abcdef-e2e' },
})
const PASSWORD = 'correct horse battery staple'
const dialog = page => page.getByRole('dialog')
const field = (page, name) => dialog(page).locator(`[name=${name}]`)
const inPage = (page, path, method, body) =>
  page.evaluate(
    async ([path, method, body]) => {
      const headers = { 'Content-Type': 'application/json' }
      return (await fetch(path, { method, headers, body: JSON.stringify(body) })).status
    },
    [path, method, body],
  )

for (const { look, small, given } of LOOKS)
  test(`the audit log and the own tools: ${look}`, async ({ open, app }) => {
    const page = await open({ ...given, ready: page => field(page, 'password') })
    const { has_accounts } = await page.evaluate(
      async () => (await (await fetch('/api/auth/mode')).json()).data,
    )
    assert.equal(await inPage(page, '/api/auth/login', 'POST', { username: 'nobody', password: 'x' }), 401)
    const account = { username: 'ann', password: PASSWORD }
    if (!has_accounts) account.setup_code = await app.setupCode()
    for (const [name, value] of Object.entries(account)) await field(page, name).fill(value)
    await field(page, 'password').press('Enter')
    await dialog(page).waitFor({ state: 'detached' })
    await page.locator('[data-composer]').waitFor()
    assert.equal(await inPage(page, '/api/admin/invitations', 'POST', {}), 200)
    const check = async name => {
      assert.deepEqual(await faults(page), [], name)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.ok(wide <= 0, `${name}: ${wide} px too wide`)
      await shot(page, `people-${name}-${look}`)
    }
    if (small) await page.locator('nav').last().getByRole('button').first().click()
    await page
      .locator('#pane-left')
      .getByRole('button', { name: /^(Signed in as|已登录：)/ })
      .click()
    await page.getByRole('menuitem', { name: /^(People|用户管理)$/ }).click()
    await dialog(page)
      .getByRole('tab', { name: /^(Audit log|审计日志)$/ })
      .click()
    const rows = dialog(page).locator('tbody tr')
    await expect(rows.first()).toContainText(/Invitation created|创建邀请/)
    await expect(dialog(page)).toContainText(/Wrong name or password|用户名或密码错误/)
    await expect(dialog(page)).not.toContainText('nobody')
    await check('audit')
    await dialog(page)
      .getByRole('combobox', { name: /^(Outcome|结果)$/ })
      .selectOption('refused')
    await expect(rows.first()).toContainText(/Wrong name or password|用户名或密码错误/)
    await page.keyboard.press('Escape')

    await page.keyboard.press('Control+Comma')
    await dialog(page)
      .getByText(/^(Your tools|你的工具)$/)
      .click()
    const tool = name => dialog(page).getByRole('switch', { name: new RegExp(`^(Use|使用) ${name}$`) })
    await expect(tool('weather')).toBeDisabled()
    const before = await tool('sql').getAttribute('aria-checked')
    await tool('sql').click()
    await expect(tool('sql')).toHaveAttribute('aria-checked', before === 'true' ? 'false' : 'true')
    await tool('sql').scrollIntoViewIfNeeded()
    await check('own-tools')
    await tool('sql').click()
    await expect(tool('sql')).toHaveAttribute('aria-checked', before)
  })
