// Asking again, editing a question, branching off; finding words in a conversation; the content of the next request.
import assert from 'node:assert/strict'
import { withMiniclaw } from './fixtures.mjs'
import { answers, ask, composer, say, settled, shot, until } from './harness.mjs'

const REPLIES = [
  { match: 'name a bird', steps: [{ text: 'A wren.' }, { finish: 'stop' }] },
  { match: 'name a bird', steps: [{ text: 'An owl.' }, { finish: 'stop' }] },
  { match: 'name a fish', repeat: true, steps: [{ text: 'A pike.' }, { finish: 'stop' }] },
]
const test = withMiniclaw({ replies: REPLIES })

const you = page => page.getByRole('article', { name: 'You', exact: true })
const asked = async (page, text, answer) => {
  await say(page, text)
  await answers(page).getByText(answer).last().waitFor()
  await settled(page)
}

test('an answer is retried, a question is edited, and every branch is kept', async ({ app, open }) => {
  const page = await open()
  await asked(page, 'hello', 'All right.')
  await asked(page, 'name a bird', 'A wren.')
  const other = await open({ path: new URL(page.url()).pathname })
  await answers(page).last().hover()
  await answers(page).last().getByRole('button', { name: 'Regenerate' }).click()
  await answers(page).getByText('An owl.').waitFor()
  await settled(page)
  assert.equal(await answers(page).count(), 2)
  assert.equal(await answers(page).getByText('A wren.').count(), 0)

  await you(page).last().hover()
  await you(page).last().getByRole('button', { name: 'Edit and resend' }).click()
  const field = you(page).last().getByRole('textbox', { name: 'Edit and resend' })
  assert.equal(await field.inputValue(), 'name a bird')
  await field.fill('name a fish')
  await field.press('Enter')
  await answers(page).getByText('A pike.').waitFor()
  await settled(page)
  await you(page).last().getByText('Version 3 of 3').waitFor({ state: 'attached' })
  await shot(page, 'ways')
  await you(page).last().getByRole('button', { name: 'Previous version' }).click()
  await answers(page).getByText('An owl.').waitFor()
  await you(page).last().getByRole('button', { name: 'Previous version' }).click()
  await answers(page).getByText('A wren.').waitFor()
  await answers(other).getByText('A wren.').waitFor()
  await other.reload()
  await you(other).last().getByText('Version 1 of 3').waitFor({ state: 'attached' })
  const sent = JSON.stringify((await app.requests()).filter(request => request.tools).at(-1))
  assert.ok(sent.includes('name a fish') && !sent.includes('name a bird'), sent)
})

test('branching off creates a conversation with the same history', async ({ app, open }) => {
  const page = await open()
  await asked(page, 'hello', 'All right.')
  await asked(page, 'name a fish', 'A pike.')
  const from = new URL(page.url()).pathname
  await answers(page).first().hover()
  await answers(page).first().getByRole('button', { name: 'Branch from here' }).click()
  await page.waitForURL(url => url.pathname !== from && url.pathname.startsWith('/s/'))
  await answers(page).getByText('All right.').waitFor()
  assert.equal(await answers(page).count(), 1)
  const parent = page.getByRole('link', { name: 'Branched from “A short name”' })
  await parent.waitFor()
  await shot(page, 'branched-from')
  await page.reload()
  await parent.click()
  await page.waitForURL(url => url.pathname.startsWith(`${from}/m/`))
  await answers(page).getByText('A pike.').waitFor()
  assert.equal(await page.getByRole('link', { name: /Branched from/ }).count(), 0)
  await ask(app, `/api${from.replace('/s/', '/sessions/')}`, { method: 'DELETE' })
  await page.goBack()
  await page.reload()
  await page.getByRole('link', { name: 'Branched from “another conversation”' }).click()
  await page.getByRole('alert').getByText('This conversation no longer exists.').waitFor()
})

test('search finds words in a conversation and steps through its messages', async ({ open }) => {
  const page = await open()
  await asked(page, 'name a fish', 'A pike.')
  await asked(page, 'another pike please', 'All right.')
  await composer(page).press('Control+f')
  const bar = page.getByRole('search', { name: 'Find in conversation' })
  await bar.getByRole('textbox').fill('PIKE')
  await bar.getByText('2 of 2').waitFor()
  await until(
    () => page.evaluate(() => CSS.highlights.get('found')?.size ?? 0),
    size => size === 2,
    'two marked places',
  )
  await shot(page, 'find')
  assert.match(await page.locator('[data-target]').textContent(), /another pike please/)
  await bar.getByRole('textbox').press('Enter')
  await bar.getByText('1 of 2').waitFor()
  assert.match(await page.locator('[data-target]').textContent(), /A pike\./)
  await bar.getByRole('textbox').fill('no such thing')
  await bar.getByText('No results.').waitFor()
  await bar.getByRole('textbox').press('Escape')
  await bar.waitFor({ state: 'detached' })
  assert.ok(await composer(page).evaluate(area => area === document.activeElement))
  assert.equal(await page.evaluate(() => CSS.highlights.has('found')), false)
})

test('the next request shows the origin of each piece and links to its file', async ({ open }) => {
  const page = await open()
  await asked(page, 'hello', 'All right.')
  await page.getByRole('button', { name: 'Prompt X-ray' }).click()
  const dialog = page.getByRole('dialog', { name: 'Prompt X-ray' })
  await dialog.getByText('Tools').waitFor()
  await dialog.getByText('Conversation').click()
  await dialog.getByText('"content": "hello"').waitFor()
  await shot(page, 'xray')
  await dialog.getByRole('button', { name: 'Open workspace/SOUL.md' }).click()
  await page.getByRole('region', { name: 'Inspector' }).locator('.cm-content').waitFor()
})
