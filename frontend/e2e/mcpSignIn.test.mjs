// Signing in to a remote MCP server: the person opens the address themselves, and comes back to the page.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { expect } from '@playwright/test'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { shot } from './harness.mjs'

const test = withMiniclaw()

const servers = page =>
  page
    .getByRole('dialog', { name: /^(Settings|设置)$/ })
    .getByRole('region', { name: /^(MCP servers|MCP 服务器)$/ })
const card = page => servers(page).getByRole('article', { name: 'notes' })

/** An MCP server that wants a sign-in and is its own authorization server. Whoever opens its page has signed in. */
async function startNotes() {
  const tool = { name: 'find_note', description: 'Finds a note.', inputSchema: { type: 'object' } }
  const results = {
    'server/discover': { supportedVersions: ['2026-07-28'] },
    'tools/list': { tools: [tool] },
  }
  const codes = new Map()
  const server = createServer(async (request, response) => {
    const base = `http://127.0.0.1:${server.address().port}`
    const url = new URL(request.url, base)
    let text = ''
    for await (const chunk of request) text += chunk
    const reply = (status, body, headers = {}) =>
      response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body))
    if (url.pathname === '/mcp') {
      if (request.headers.authorization !== 'Bearer a-token-for-notes')
        return reply(401, {}, { 'WWW-Authenticate': 'Bearer scope="notes:read notes:find"' })
      const { id, method } = JSON.parse(text)
      return reply(200, { jsonrpc: '2.0', id, result: results[method] ?? {} })
    }
    if (url.pathname === '/.well-known/oauth-protected-resource/mcp')
      return reply(200, { resource: `${base}/mcp`, authorization_servers: [base] })
    if (url.pathname === '/.well-known/oauth-authorization-server')
      return reply(200, {
        issuer: base,
        authorization_endpoint: `${base}/authorize`,
        token_endpoint: `${base}/token`,
        registration_endpoint: `${base}/register`,
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
      })
    if (url.pathname === '/register') return reply(201, { client_id: 'a-client' })
    if (url.pathname === '/authorize') {
      const back = new URL(url.searchParams.get('redirect_uri'))
      back.search = new URLSearchParams({ code: 'a-code', state: url.searchParams.get('state'), iss: base })
      codes.set('a-code', url.searchParams.get('code_challenge'))
      return response.writeHead(302, { Location: back.href }).end()
    }
    if (url.pathname === '/token' && codes.delete(new URLSearchParams(text).get('code')))
      return reply(200, { access_token: 'a-token-for-notes', token_type: 'Bearer', expires_in: 3600 })
    return reply(404, {})
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, stop: () => server.close() }
}

for (const { look, given } of LOOKS)
  test(`a person signs in to a server in ${look}`, async ({ open }) => {
    const notes = await startNotes()
    const page = await open(given)
    await page.keyboard.press('ControlOrMeta+Comma')
    await servers(page)
      .getByRole('button', { name: /^(Add MCP servers|添加 MCP 服务器)$/ })
      .click()
    await servers(page)
      .getByLabel(/^(Configuration|配置)$/)
      .fill(JSON.stringify({ mcpServers: { notes: { url: notes.url } } }))
    await servers(page)
      .getByRole('button', { name: /^(Add|添加)$/ })
      .click()
    await card(page)
      .getByRole('button', { name: /^(Confirm and start|确认并启动)$/ })
      .click()
    await expect(card(page)).toContainText(/Sign-in needed|需要登录/)
    await card(page)
      .getByRole('button', { name: /^(Sign in|登录)$/ })
      .click()
    await expect(card(page)).toContainText('notes:read, notes:find')
    const link = card(page).getByRole('link', { name: /^(Open the sign-in page|打开登录页面)$/ })
    await expect(link).toHaveAttribute('rel', 'noopener noreferrer')
    await shot(page, `mcp-sign-in-${look}`)
    const opening = page.context().waitForEvent('page')
    await link.click()
    const other = await opening
    await expect(card(other)).toContainText(/You are signed in|你已登录/)
    const address = new URL(other.url())
    assert.deepEqual([address.pathname, address.search], ['/', ''], 'no history contains the code')
    await other.close()
    await expect(card(page)).toContainText(/You are signed in|你已登录/)
    await expect(card(page)).toContainText('find_note')
    await shot(page, `mcp-signed-in-${look}`)
    assert.deepEqual(await faults(page), [])
    await card(page)
      .getByRole('button', { name: /^(Sign out|退出登录)$/ })
      .click()
    await expect(card(page)).toContainText(/Sign-in needed|需要登录/)
    await card(page)
      .getByRole('button', { name: /^(Remove notes|移除 notes)$/ })
      .click()
    await card(page)
      .getByRole('button', { name: /^(Remove|移除)$/ })
      .click()
    await expect(card(page)).toHaveCount(0)
    notes.stop()
  })

test('a sign-in that the page cannot complete says so', async ({ open }) => {
  const page = await open()
  await page.route(/signInReturn-.*\.js/, route => route.abort())
  await page.goto(new URL('/oauth/callback?code=c&state=s', page.url()).href)
  await expect(page.getByText(/sign-in was not completed|登录未完成/).first()).toBeVisible()
  assert.equal(new URL(page.url()).search, '', 'no history contains the code')
})
