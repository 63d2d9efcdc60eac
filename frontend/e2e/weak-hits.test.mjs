// Passages that probably do not answer: one line each until it is opened, in a conversation and in the playground.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, ask, openCalls, settled, shot } from './harness.mjs'

const GARDEN = '# Garden\n\nThe roses in the garden need water on Mondays.\n'
const OTHER_TOPIC = 'How many moons of Jupiter are visible from a garden with binoculars?'
const found = { tool_call: { id: 'k', name: 'search_memory', arguments: { query: OTHER_TOPIC } } }

const test = withMiniclaw({
  replies: [
    // A request for a title has the message in it, too.
    { match: 'Give this conversation a title', repeat: true, steps: [{ text: 'Moons' }, { finish: 'stop' }] },
    ...LOOKS.flatMap(() => [
      { match: 'look it up', steps: [found, { finish: 'tool_calls' }] },
      { match: 'look it up', steps: [{ text: 'Four of them.' }, { finish: 'stop' }] },
    ]),
    { repeat: true, steps: [{ text: 'Four of them.' }, { finish: 'stop' }] },
  ],
  prepare: app => writeFile(join(app.home, 'memory/garden.md'), GARDEN),
})

/** Sends a message, whatever the language of the page. */
async function say(page, text) {
  const box = page.getByRole('textbox', { name: /^(Message|消息)$/ })
  await box.fill(text)
  await box.press('Control+Enter')
  await answers(page).getByText('Four of them.').first().waitFor()
  await settled(page)
}

const put = { method: 'PUT', headers: { 'content-type': 'application/json' } }
const switchRag = (app, enabled) =>
  ask(app, '/api/config/rag-mode', { ...put, body: JSON.stringify({ enabled }) })

for (const { look, given } of LOOKS) {
  const zh = given.lang === 'zh'
  const [card, told, weak] = zh
    ? [
        '没有理想的匹配，未提供 1 个弱匹配',
        '以下 1 个弱匹配很可能没有回答这个问题，因此没有提供给模型。',
        '弱匹配',
      ]
    : [
        'No good match, 1 weak match withheld',
        'This weak match probably doesn’t answer the question, so the model didn’t receive it.',
        'weak',
      ]
  const line = page => page.locator('summary', { hasText: 'memory/garden.md' }).last()

  test(`the card says what was withheld, and shows it when it is opened (${look})`, async ({ app, open }) => {
    await switchRag(app, true)
    const page = await open(given)
    await say(page, OTHER_TOPIC)
    const check = async () => {
      await answers(page).getByText(card, { exact: true }).click()
      await answers(page).getByText(told).waitFor()
      await line(page).getByText(weak, { exact: true }).waitFor()
      assert.equal(await answers(page).getByText('The roses in the garden').count(), 0)
      await shot(page, `weak-folded-${look}`)
      await line(page).focus()
      await page.keyboard.press('Enter')
      await answers(page).getByText('The roses in the garden').waitFor()
      assert.deepEqual(await faults(page), [])
      await shot(page, `weak-open-${look}`)
    }
    await check()
    // The same from the server's record.
    await page.reload()
    await check()
    await switchRag(app, false)
  })

  test(`a search of the model shows what it withheld (${look})`, async ({ open }) => {
    const page = await open(given)
    await say(page, 'look it up')
    await openCalls(answers(page))
    await answers(page).locator('summary', { hasText: 'search_memory' }).click()
    await answers(page).getByText(told).waitFor()
    await line(page).click()
    await answers(page).getByRole('link', { name: 'memory/garden.md' }).waitFor()
    await shot(page, `weak-call-${look}`)
  })

  test(`the playground marks weak passages and folds them (${look})`, async ({ open }) => {
    const path = `/playground?query=${encodeURIComponent(OTHER_TOPIC)}&folder=memory`
    const ready = page => page.locator('[data-row]').first()
    const page = await open({ path, ready, ...given })
    const row = page.locator('[data-row]').filter({ hasText: 'memory/garden.md' })
    await row.getByText(weak, { exact: true }).waitFor()
    await row
      .getByText(zh ? '这个片段很可能没有回答这个问题。' : 'This passage probably doesn’t answer')
      .waitFor()
    assert.equal(await row.getByText('The roses in the garden').count(), 0)
    await shot(page, `weak-playground-${look}`)
    await row.getByRole('button').first().focus()
    await page.keyboard.press('Enter')
    await row.getByText('The roses in the garden').first().waitFor()
    await row
      .getByText(zh ? '这个片段很可能没有回答这个问题。' : 'This passage probably doesn’t answer')
      .waitFor()
    assert.deepEqual(await faults(page), [])
    await shot(page, `weak-playground-open-${look}`)
  })
}
