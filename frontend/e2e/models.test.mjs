// The choice of model belongs to a conversation.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, ask, composer, say, settled, shot, until } from './harness.mjs'

const ALONE = 'find_local_models: false\n'
const CONFIG = `${ALONE}models:
  - {id: second, name: The second, api_url: '\${OPENAI_BASE_URL}', api_key: x, model: other-mock}
  - {id: deepseek-chat, api_url: 'https://api.deepseek.com', api_key: x}
`

const test = withMiniclaw({ config: CONFIG })

const picker = page => page.getByRole('button', { name: /^(Model: |模型：)/ })
const choose = async (page, name) => {
  await picker(page).click()
  await page.getByRole('menuitemcheckbox', { name }).click()
}
const asked = async app => (await app.requests()).filter(body => body.tools).map(body => body.model)
const id = page => new URL(page.url()).pathname.split('/')[2]
const chosen = async (app, page) => (await ask(app, `/api/sessions/${id(page)}/history`)).chosen

test('the chosen model answers from the next message on, in this conversation only', async ({
  app,
  open,
}) => {
  const page = await open()
  await choose(page, /^The second/)
  await page.getByRole('button', { name: 'Model: The second' }).waitFor()
  await say(page, 'one')
  await answers(page).getByText('other-mock').waitFor()
  await settled(page)
  assert.deepEqual(await chosen(app, page), { model: 'other/other-mock' })
  await page.reload()
  await page.getByRole('button', { name: 'Model: The second' }).waitFor()
  await answers(page).getByText('other-mock').waitFor()
  await choose(page, /^Default: mock/)
  await say(page, 'two')
  await answers(page).nth(1).getByText('mock', { exact: true }).waitFor()
  await settled(page)
  assert.deepEqual(await asked(app), ['other-mock', 'mock'])
  const other = await open()
  await other.getByRole('button', { name: 'Model: mock' }).waitFor()
})

test('thinking can be switched in every tab if the model has a switch', async ({ app, open }) => {
  const page = await open()
  await say(page, 'hello')
  await answers(page).first().waitFor()
  await settled(page)
  const other = await open({ path: `/s/${id(page)}` })
  const thinking = tab => tab.getByRole('button', { name: /^Thinking: / })
  assert.equal(await thinking(page).count(), 0)
  await choose(page, /^DeepSeek deepseek-chat/)
  await page.getByRole('button', { name: 'Thinking: auto' }).click()
  await page.getByRole('menuitemcheckbox', { name: 'Thinking: on' }).click()
  await other.getByRole('button', { name: 'Thinking: on' }).waitFor()
  assert.deepEqual(await chosen(app, page), { model: 'deepseek/deepseek-chat', thinking: true })
  const { request } = await ask(app, `/api/prompt?session_id=${id(page)}`)
  assert.deepEqual([request.model, request.thinking], ['deepseek-chat', { type: 'enabled' }])
  await choose(page, /^The second/)
  await thinking(other).waitFor({ state: 'detached' })
  assert.deepEqual(await chosen(app, page), { model: 'other/other-mock' })
})

for (const { look, given } of LOOKS) {
  test(`the choice, ${look}`, async ({ open }) => {
    const page = await open(given)
    await choose(page, /^DeepSeek deepseek-chat/)
    await page.getByRole('button', { name: /^(Thinking: |思考：)/ }).waitFor()
    await picker(page).click()
    await page.getByRole('menuitemcheckbox').nth(2).waitFor()
    await shot(page, `models-${look}`)
    assert.deepEqual(await faults(page), [])
  })
}

test('an unavailable model is reported with a way out', async ({ app, open }) => {
  const page = await open()
  await choose(page, /^The second/)
  await say(page, 'one')
  await answers(page).first().waitFor()
  await settled(page)
  await app.restart(() => writeFile(join(app.home, 'config.yml'), ALONE))
  await page.reload()
  await page.getByText('The model “other/other-mock” is no longer available').waitFor()
  await shot(page, 'model-gone')
  await composer(page).fill('two')
  assert.equal(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled(), true)
  await page.getByRole('button', { name: 'Use default model' }).click()
  await page.getByRole('button', { name: 'Model: mock' }).waitFor()
  await composer(page).press('Enter')
  await answers(page).nth(1).getByText('All right.').waitFor()
  await until(
    () => asked(app),
    models => models.at(-1) === 'mock',
    'the default model to be asked',
  )
})
