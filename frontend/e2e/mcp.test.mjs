// MCP servers in the settings: added by pasting, confirmed in full, tools trusted, a reworded tool shown with both versions.
import assert from 'node:assert/strict'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { ask, shot } from './harness.mjs'

const test = withMiniclaw()
const program = await readFile(new URL('../../tests/fixtures/mcp/server.py', import.meta.url), 'utf8')
const entry = { command: '/usr/bin/python3', args: ['-c', program, 'legacy'], env: { KIND: 'cat' } }

const servers = page =>
  page
    .getByRole('dialog', { name: /^(Settings|设置)$/ })
    .getByRole('region', { name: /^(MCP servers|MCP 服务器)$/ })
const card = (page, name) => servers(page).getByRole('article', { name })
const tool = (page, name) =>
  card(page, 'pets')
    .getByRole('listitem')
    .filter({ has: page.locator('code', { hasText: new RegExp(`^${name}$`) }) })

for (const { look, given } of LOOKS)
  test(`servers are added, confirmed and trusted in ${look}`, async ({ app, open }) => {
    await rm(join(app.home, 'storage/mcp/pets'), { recursive: true, force: true })
    const page = await open(given)
    await page.keyboard.press('ControlOrMeta+Comma')
    await servers(page)
      .getByRole('button', { name: /^(Add MCP servers|添加 MCP 服务器)$/ })
      .click()
    const field = servers(page).getByLabel(/^(Configuration|配置)$/)
    await field.fill('npx -y something')
    await servers(page)
      .getByRole('button', { name: /^(Add|添加)$/ })
      .click()
    await expect(servers(page).getByRole('alert')).toBeVisible()
    await field.fill(JSON.stringify({ mcpServers: { pets: entry } }))
    await servers(page)
      .getByRole('button', { name: /^(Add|添加)$/ })
      .click()
    await expect(card(page, 'pets')).toContainText(/Not confirmed|未确认/)
    await expect(card(page, 'pets')).toContainText('"KIND": "cat"')
    await shot(page, `mcp-unconfirmed-${look}`)
    await card(page, 'pets')
      .getByRole('button', { name: /^(Confirm and start|确认并启动)$/ })
      .click()
    await expect(tool(page, 'echo')).toContainText(/New|新/)
    await tool(page, 'echo').locator('summary').click()
    await expect(tool(page, 'echo')).toContainText('Repeats a text.')
    await tool(page, 'echo')
      .getByRole('button', { name: /^(Trust this version|信任此版本)$/ })
      .click()
    await expect(tool(page, 'echo')).toContainText(/Trusted|已信任/)
    await shot(page, `mcp-trusted-${look}`)

    await writeFile(join(app.home, 'storage/mcp/pets/mode'), 'poisoned')
    await card(page, 'pets')
      .getByRole('button', { name: /^(Reconnect pets|重新连接 pets)$/ })
      .click()
    await expect(tool(page, 'echo')).toContainText(/Description changed|描述已更改/)
    await expect(tool(page, 'echo')).toContainText('IMPORTANT')
    await shot(page, `mcp-reworded-${look}`)
    assert.deepEqual(await faults(page), [])

    // Rules change without another confirmation.
    const load = card(page, 'pets').getByLabel(/^(Load tools|加载工具)$/)
    await load.selectOption('always')
    await tool(page, 'echo')
      .getByLabel(/^(Calls|调用)$/)
      .selectOption('allow')
    await expect(async () => {
      const [pets] = (await ask(app, '/api/mcp')).servers
      assert.deepEqual(pets.rules, { policy: null, tools: { echo: 'allow' }, load: 'always' })
      assert.equal(pets.status, 'running')
    }).toPass()
    await shot(page, `mcp-rules-${look}`)
    await card(page, 'pets')
      .getByRole('button', { name: /^(Remove pets|移除 pets)$/ })
      .click()
    await shot(page, `mcp-remove-${look}`)
    await card(page, 'pets')
      .getByRole('button', { name: /^(Remove|移除)$/ })
      .click()
    await expect(card(page, 'pets')).toHaveCount(0)
    assert.deepEqual((await ask(app, '/api/mcp')).servers, [])
  })

test('an npx line is offered an installation', async ({ open }) => {
  const page = await open({})
  await page.keyboard.press('ControlOrMeta+Comma')
  await servers(page)
    .getByRole('button', { name: /^(Add MCP servers|添加 MCP 服务器)$/ })
    .click()
  const npx = { command: 'npx', args: ['-y', '@scope/memory@1.2.3', 'a b'] }
  await servers(page)
    .getByLabel(/^(Configuration|配置)$/)
    .fill(JSON.stringify({ mcpServers: { memory: npx } }))
  await servers(page)
    .getByRole('button', { name: /^(Add|添加)$/ })
    .click()
  await expect(card(page, 'memory')).toContainText(
    "miniclaw mcp add npm:@scope/memory@1.2.3 --as memory -- 'a b'",
  )
})
