// Two people on a real server: the first account, an invitation, a conversation of each, and what neither sees.
import assert from 'node:assert/strict'
import { expect } from '@playwright/test'
import { withMiniclaw } from './fixtures.mjs'
import { answers, say, settled, shot } from './harness.mjs'

const test = withMiniclaw({
  config: 'auth_mode: multi\n',
  env: { MINICLAW_JWT_SECRET: '0123456789abcdef0123456789abcdef-e2e' },
})

const PASSWORD = 'correct horse battery staple'
const gate = page => page.getByRole('dialog')
const field = (page, name) => gate(page).locator(`[name=${name}]`)
const sessions = page => page.locator('#pane-left')

async function fill(page, values) {
  for (const [name, value] of Object.entries(values)) await field(page, name).fill(value)
  await field(page, 'password').press('Enter')
  await gate(page).waitFor({ state: 'detached' })
  await page.getByRole('textbox', { name: 'Message', exact: true }).waitFor()
}

async function chat(page, text) {
  await say(page, text)
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
}

test('before the sign-in, the page asks only for what that needs', async ({ open }) => {
  const asked = []
  const prepare = page =>
    page.on('request', request => {
      const { pathname } = new URL(request.url())
      if (pathname.startsWith('/api/')) asked.push(pathname)
    })
  const page = await open({ path: '/s/unknown', ready: page => field(page, 'password'), prepare })
  // The page comes to rest: what would be tried again is tried within this time.
  await page.waitForTimeout(2_000)
  assert.deepEqual(asked, ['/api/status', ...asked.slice(1).map(() => '/api/auth/mode')])
  assert.ok(asked.length <= 4, asked.join(' '))
})

test('two people sign in, and neither sees what is the other’s', async ({ open, app, browser }) => {
  const ann = await open({ ready: page => field(page, 'password') })
  await fill(ann, { username: 'ann', password: PASSWORD, setup_code: await app.setupCode() })
  await chat(ann, 'the plan of Ann')
  await expect(sessions(ann)).toContainText('A short name')

  // Ann invites Bob, who has a browser of his own.
  const { code } = await ann.evaluate(async () => {
    const made = await fetch('/api/admin/invitations', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{}',
    })
    return (await made.json()).data
  })
  assert.ok(browser)
  const bob = await open({ path: `/#invitation=${code}`, ready: page => field(page, 'password') })
  await fill(bob, { username: 'bob', password: PASSWORD })
  await expect(sessions(bob)).not.toContainText('A short name')
  await chat(bob, 'the plan of Bob')
  const own = new URL(ann.url()).pathname
  const seen = await bob.evaluate(
    async id => (await fetch(`/api/sessions/${id}/history`)).status,
    own.split('/').pop(),
  )
  assert.equal(seen, 404)
  await bob.goto(app.url + own)
  await expect(bob.getByText('the plan of Ann')).toHaveCount(0)
  await shot(bob, 'people-server')

  // What Ann does to Bob's account ends his session at once.
  const disabled = await ann.evaluate(async () => {
    const people = (await (await fetch('/api/admin/people')).json()).data.items
    const id = people.find(person => person.username === 'bob').id
    const changed = await fetch(`/api/admin/people/${id}`, {
      method: 'PATCH',
      headers: { 'Content-Type': 'application/json' },
      body: '{"is_active": false}',
    })
    return changed.status
  })
  assert.equal(disabled, 200)
  await field(bob, 'password').waitFor()
})
