// What an MCP server asks the person during a call: a form, an address, and a kill of miniclaw in between.
import assert from 'node:assert/strict'
import { expect } from '@playwright/test'
import { withPets } from './asking.mjs'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { openCalls, settled, shot } from './harness.mjs'

const calls = (match, tool) => [
  {
    match,
    steps: [
      { tool_call: { id: `c-${match}`, name: `mcp__pets__${tool}`, arguments: {} } },
      { finish: 'tool_calls' },
    ],
  },
  { match, steps: [{ text: `After ${match}.` }, { finish: 'stop' }] },
]
const TIMES = 8
const test = withMiniclaw({
  replies: Array.from({ length: TIMES }, (_, n) => [
    ...calls(`book${n}`, 'book'),
    ...calls(`sign${n}`, 'sign_in'),
  ]).flat(),
  prepare: withPets('book', 'sign_in'),
})

const card = page => page.getByRole('form', { name: /pets (asks you for input|请你提供信息)/ })
const field = (page, name) => card(page).getByLabel(name)
const button = (page, name) => card(page).getByRole('button', { name })

const composer = page => page.locator('[data-composer]')
const answers = page => page.locator('[role=log] article')
async function say(page, text) {
  await composer(page).fill(text)
  await composer(page).press(page.viewportSize().width < 768 ? 'Control+Enter' : 'Enter')
}

let turn = 0
for (const { look, given } of LOOKS)
  test(`a form is filled in and an address opened by a person in ${look}`, async ({ open }) => {
    const [book, sign] = [`book${turn}`, `sign${turn}`]
    turn += 1
    const page = await open(given)
    await say(page, book)
    await expect(card(page)).toContainText('Who travels')
    await expect(
      answers(page)
        .getByText(/pets (waits for your answer|等待你的回答)/)
        .first(),
    ).toBeVisible()
    await expect(card(page).locator('mark')).toHaveCount(0)
    await expect(card(page)).toContainText('\\u200b')
    await field(page, 'Seats').fill('9')
    await button(page, /^(Send|发送)$/).click()
    await expect(card(page).getByText(/Enter a value|请输入值/)).toBeVisible()
    await expect(card(page).getByText(/at most 4|不大于 4/)).toBeVisible()
    await expect(field(page, 'Your name')).toBeFocused()
    await shot(page, `elicit-problems-${look}`)
    await field(page, 'Your name').fill('Ada')
    await field(page, 'Seats').fill('2')
    await field(page, 'Cage').selectOption('l')
    await card(page).getByRole('checkbox', { name: 'food' }).check()
    await shot(page, `elicit-form-${look}`)
    assert.deepEqual(await faults(page), [])
    await field(page, 'Your name').press('Enter')
    await answers(page).getByText(`After ${book}.`).waitFor()
    await settled(page)
    await openCalls(answers(page).last())
    await answers(page).last().locator('summary', { hasText: 'book' }).click()
    await expect(answers(page).last()).toContainText('name: Ada')
    await shot(page, `elicit-answered-${look}`)

    await say(page, sign)
    await expect(card(page)).toContainText('https://clinic.example:8443/sign-in?id=7')
    await expect(card(page).locator('strong')).toHaveText('clinic.example:8443')
    const link = card(page).getByRole('link')
    await expect(link).toHaveAttribute('rel', 'noopener noreferrer')
    await shot(page, `elicit-address-${look}`)
    assert.deepEqual(await faults(page), [])
    await button(page, /^(Decline|拒绝)$/).click()
    await answers(page).getByText(`After ${sign}.`).waitFor()
    await settled(page)
    await openCalls(answers(page).last())
    await answers(page).last().locator('summary', { hasText: 'sign_in' }).click()
    await expect(answers(page).last()).toContainText(/declined to answer pets|拒绝回答 pets/)
  })

test('a form is still there after a kill, and its answer counts', async ({ app, open }) => {
  const page = await open()
  await say(page, 'book6')
  await expect(card(page)).toBeVisible()
  await app.restart()
  await page.reload()
  await field(page, 'Your name').fill('Grace')
  await composer(page).focus()
  await page.keyboard.press('ControlOrMeta+Alt+Enter')
  await answers(page).getByText('After book6.').waitFor()
  await settled(page)
  await page.reload()
  await openCalls(answers(page).last())
  await answers(page).last().locator('summary', { hasText: 'book' }).click()
  await expect(answers(page).last()).toContainText('name: Grace')
})
