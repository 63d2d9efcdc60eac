// Providers of one's own on a real server for several people: connected, talked with, changed, removed, and seen by nobody else.
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { ADMIN, asked, multi, signedIn, tooWide, VIEWS } from './accounts.mjs'
import { faults, withMiniclaw } from './fixtures.mjs'
import { answers, say, settled, shot, until } from './harness.mjs'

const test = withMiniclaw(multi('own_provider_hosts: [127.0.0.1]\n'))

const KEY = 'sk-canary-own-1'
const NEXT_KEY = 'sk-canary-own-2'
const MODELS = ['tea-large', 'tea-small', 'tea-vision']

const chunk = delta => `data: ${JSON.stringify({ choices: [{ index: 0, ...delta }] })}\n\n`

/** A provider with OpenAI's API that accepts these keys, and keeps the key and model of each chat request. */
async function startProvider(keys) {
  const chats = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', data => {
      body += data
    })
    request.on('end', () => {
      const key = request.headers.authorization?.replace('Bearer ', '')
      const send = (status, json) => {
        response.writeHead(status, { 'Content-Type': 'application/json' })
        response.end(JSON.stringify(json))
      }
      if (!keys.includes(key)) return send(401, { error: { message: 'Incorrect API key' } })
      if (request.method === 'GET') return send(200, { data: MODELS.map(id => ({ id })) })
      const { model } = JSON.parse(body)
      chats.push({ key, model })
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write(chunk({ delta: { role: 'assistant', content: `I am ${model}.` } }))
      response.end(`${chunk({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`)
    })
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    chats,
    stop: () => new Promise(resolve => server.close(resolve)),
  }
}

const settings = page => page.getByRole('dialog', { name: /^(Settings|设置)$/ })
const own = page => settings(page).getByRole('region', { name: /^(Your own providers|你自己的服务商)$/ })
const form = page => own(page).locator('form')

async function openOwn(page) {
  await page.keyboard.press('ControlOrMeta+Comma')
  await own(page).waitFor()
}

async function connect(page, address, key) {
  if ((await form(page).count()) === 0)
    await own(page)
      .getByRole('button', { name: /^(Connect a provider of your own|连接自己的服务商)$/ })
      .click()
  await form(page)
    .getByRole('button', { name: /^(Other…|其他…)$/ })
    .click()
  await form(page)
    .getByLabel(/^(Base URL|基础 URL)$/)
    .fill(address)
  await form(page)
    .getByLabel(/^(API key|API 密钥)/)
    .fill(key)
  await form(page)
    .getByRole('button', { name: /^(Connect|连接)$/ })
    .click()
}

const choose = async (page, model) => {
  await page.getByRole('button', { name: /^Model: / }).click()
  await page.getByRole('menu').getByText(model).click()
}

/** Every file of the homes, in which a key must not be readable. */
async function files(app) {
  const names = await readdir(app.home, { recursive: true, withFileTypes: true })
  const texts = names.filter(file => file.isFile()).map(file => readFile(join(file.parentPath, file.name)))
  return Buffer.concat(await Promise.all(texts)).toString('latin1')
}

test('a person connects a provider, talks with its models, edits it and removes it', async ({
  app,
  open,
}) => {
  const provider = await startProvider([KEY, NEXT_KEY])
  try {
    const ada = await signedIn({ open, app }, ADMIN)
    const bob = await signedIn({ open, app }, 'bob')

    await openOwn(bob)
    await connect(bob, provider.url, 'sk-canary-wrong')
    await expect(form(bob).getByRole('alert')).toContainText('key')
    await form(bob)
      .getByLabel(/^API key/)
      .fill(KEY)
    await form(bob).getByRole('button', { name: 'Connect', exact: true }).click()
    const card = own(bob).getByRole('article')
    await expect(card).toContainText('Ready')
    await expect(card).toContainText('API key set · 3 models')
    await expect(form(bob)).toHaveCount(0)
    await expect(own(bob).getByRole('button', { name: 'Connect a provider of your own' })).toBeFocused()
    await bob.keyboard.press('Escape')

    await choose(bob, /tea-small/)
    await say(bob, 'Who are you?')
    await answers(bob).getByText('I am tea-small.').waitFor()
    await settled(bob)
    assert.ok(provider.chats.some(({ key, model }) => key === KEY && model === 'tea-small'))

    // Another name and fewer models; the key stays.
    await openOwn(bob)
    await card.getByRole('button', { name: /^Edit / }).click()
    await expect(card.getByLabel('New API key (empty keeps the present one)')).toHaveValue('')
    await card.getByLabel('Name').fill('Tea house')
    await card.getByRole('checkbox', { name: 'tea-vision' }).uncheck()
    await card.getByRole('button', { name: 'Save' }).click()
    await expect(own(bob).getByRole('article', { name: 'Tea house' })).toContainText('API key set · 2 models')
    await expect(card.getByRole('button', { name: 'Edit Tea house' })).toBeFocused()
    await own(bob).getByLabel('Your default model').selectOption({ label: 'tea-large · Tea house' })
    await until(
      () => asked(bob, '/api/models'),
      ({ body }) => /tea-large/.test(body.default_id),
      'the default model',
    )
    await bob.keyboard.press('Escape')
    await say(bob, 'And now?')
    await expect(answers(bob).getByText('I am tea-small.')).toHaveCount(2)
    await settled(bob)
    assert.equal(provider.chats.at(-1).key, KEY)

    // A new key is tested before it replaces the old one.
    await openOwn(bob)
    await card.getByRole('button', { name: 'Edit Tea house' }).click()
    await card.getByLabel(/^New API key/).fill('sk-canary-wrong')
    await card.getByRole('button', { name: 'Save' }).click()
    await card.getByRole('alert').waitFor()
    await card.getByLabel(/^New API key/).fill(NEXT_KEY)
    await card.getByRole('button', { name: 'Save' }).click()
    await expect(form(bob)).toHaveCount(0)
    await bob.keyboard.press('Escape')
    await say(bob, 'Still there?')
    await expect(answers(bob).getByText('I am tea-small.')).toHaveCount(3)
    await settled(bob)
    assert.equal(provider.chats.at(-1).key, NEXT_KEY)
    assert.ok(!/sk-canary/.test(await files(app)), 'no key is readable in a file')

    // Settings of the server are not for Bob, and nothing says that they cannot be loaded.
    await openOwn(bob)
    await expect(settings(bob).getByRole('heading', { level: 3 })).toHaveText([
      ...['General', 'Providers and models', 'Approvals', 'Memory and search', 'Tools and skills'],
      ...['Keyboard shortcuts', 'Data', 'About'],
    ])
    await expect(settings(bob).getByText('Couldn’t load')).toHaveCount(0)
    await bob.keyboard.press('Escape')
    // “Connect a model” leads to what he may connect.
    await bob.getByRole('button', { name: /^Model: / }).click()
    await bob.getByRole('menuitem', { name: 'Connect a model' }).click()
    await bob
      .getByRole('dialog', { name: 'Connect a model' })
      .getByRole('button', { name: 'Connect a provider of your own' })
      .waitFor()
    await bob.keyboard.press('Escape')

    // Nobody else sees any of it.
    assert.ok(!/tea-|Tea house|own\//.test(JSON.stringify(await asked(ada, '/api/models'))))
    await openOwn(ada)
    await own(ada).getByRole('button', { name: 'Connect a provider of your own' }).waitFor()
    await expect(own(ada).getByRole('article')).toHaveCount(0)
    await expect(settings(ada).getByText(/Tea house|tea-/)).toHaveCount(0)

    await openOwn(bob)
    await card.getByRole('button', { name: 'Remove Tea house' }).click()
    await card.getByRole('button', { name: 'Cancel' }).click()
    await expect(card.getByRole('button', { name: 'Remove Tea house' })).toBeFocused()
    await card.getByRole('button', { name: 'Remove Tea house' }).click()
    await card.getByRole('button', { name: 'Remove', exact: true }).click()
    await expect(own(bob).getByRole('article')).toHaveCount(0)
    await expect(own(bob).getByRole('button', { name: 'Connect a provider of your own' })).toBeFocused()
    await bob.keyboard.press('Escape')
    await bob.getByRole('button', { name: /^Model: .*tea-small/ }).waitFor()
  } finally {
    await provider.stop()
  }
})

test('an address that people may not reach is refused, with what to do', async ({ app, open }) => {
  const bob = await signedIn({ open, app }, 'bob')
  await openOwn(bob)
  const alert = form(bob).getByRole('alert')
  await connect(bob, 'http://10.1.2.3/v1', KEY)
  await expect(alert).toContainText('https://')
  await connect(bob, 'https://10.1.2.3:8443/v1', KEY)
  await expect(alert).toContainText('own_provider_hosts')
  await connect(bob, 'not an address', KEY)
  await expect(alert).toContainText('http')
  await expect(own(bob).getByRole('article')).toHaveCount(0)
})

for (const [view, look] of VIEWS)
  test(`providers of one's own: ${view}`, async ({ app, open }) => {
    const provider = await startProvider([KEY])
    try {
      const page = await signedIn({ open, app }, 'bob', look)
      const check = async what => {
        assert.deepEqual(await faults(page), [], what)
        assert.ok((await tooWide(page)) <= 0, `${what}: too wide`)
        await shot(page, `own-${what}-${view}`)
      }
      await openOwn(page)
      await check('none')
      await own(page)
        .getByRole('button', { name: /^(Connect a provider of your own|连接自己的服务商)$/ })
        .click()
      await check('form')
      await connect(page, 'https://10.1.2.3:8443/v1', KEY)
      await form(page).getByRole('alert').waitFor()
      await check('refused')
      await connect(page, provider.url, KEY)
      const card = own(page).getByRole('article')
      await card.waitFor()
      await check('one')
      await card
        .getByRole('button', { name: /^(Edit|编辑)/ })
        .first()
        .click()
      await check('edit')
      await card
        .getByRole('button', { name: /^(Remove|移除)/ })
        .first()
        .click()
      await check('remove')
      await card.getByRole('button', { name: /^(Remove|移除)$/ }).click()
      await expect(card).toHaveCount(0)
    } finally {
      await provider.stop()
    }
  })
