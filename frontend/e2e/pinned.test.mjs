// Pinned messages: sent with every request, also when a summary has replaced them.
import assert from 'node:assert/strict'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, MOBILE, say, settled, shot } from './harness.mjs'

const text = words => [{ text: words }, { finish: 'stop' }]
const REPLIES = [
  { match: 'Summarise', repeat: true, steps: text('They talked about colors.') },
  { match: 'one', repeat: true, steps: text('Answer to one.') },
  { match: 'two', repeat: true, steps: text('Answer to two.') },
]
const test = withMiniclaw({ replies: REPLIES })
const pinned = page => page.getByRole('region', { name: 'Pinned messages' })
const message = (page, words) => page.getByRole('article').filter({ hasText: words }).first()

async function talk(page) {
  for (const [question, answer] of [
    ['number one', 'Answer to one.'],
    ['number two', 'Answer to two.'],
  ]) {
    await say(page, question)
    await answers(page).getByText(answer).waitFor()
    await settled(page)
  }
}

test('a pinned question and answer outlive a compaction, and are unpinned', async ({ open }) => {
  const page = await open()
  await talk(page)
  await message(page, 'number one').hover()
  await message(page, 'number one').getByRole('button', { name: 'Pin message' }).click()
  await message(page, 'number one').getByRole('button', { name: 'Unpin message' }).waitFor()
  await message(page, 'Answer to one.').focus()
  await page.keyboard.press('p')
  await message(page, 'Answer to one.').getByRole('button', { name: 'Unpin message' }).waitFor()
  await page.getByRole('button', { name: 'Compact conversation' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Compact conversation' })
  await dialog.getByText('Pinned messages stay').waitFor()
  await dialog.getByRole('button', { name: 'Write it myself' }).click()
  await dialog.getByRole('textbox').first().fill('They counted.')
  await dialog.getByRole('button', { name: 'Replace with summary' }).click()
  await pinned(page).getByText('number one').waitFor()
  await pinned(page).getByText('Answer to one.').waitFor()
  // The summary has replaced the last question too; it is not shown as if it were on its way.
  assert.equal(await page.getByText('Sending…').count(), 0)
  assert.deepEqual(await faults(page), [])
  await shot(page, 'pinned')
  await page.reload()
  await pinned(page).getByRole('button', { name: 'Unpin message' }).first().click()
  await pinned(page).getByText('number one').waitFor({ state: 'detached' })
  await pinned(page).getByText('Answer to one.').waitFor()
})

for (const { look, small, given } of LOOKS) {
  test(`a pinned message: ${look}`, async ({ open }) => {
    const page = await open(small ? { ...MOBILE, ...given } : given)
    await page.locator('[data-composer]').fill('number one')
    await page.locator('[data-composer]').press('Control+Enter')
    const article = page.getByRole('article').filter({ hasText: 'Answer to one.' })
    await article.hover()
    await article.getByRole('button', { name: /^(Pin message|固定消息)/ }).click()
    await article.getByRole('button', { name: /^(Unpin message|取消固定消息)/ }).waitFor()
    assert.deepEqual(await faults(page), [])
    await shot(page, `pinned-${look}`)
  })
}
