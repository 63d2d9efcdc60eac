// The tour: a line for SOUL.md, an answer, and the X-ray of its request.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, composer, settled, shot, until } from './harness.mjs'

const test = withMiniclaw()

const LINE = 'End every response with a greeting from the sea.'
const soul = app => readFile(join(app.home, 'workspace/SOUL.md'), 'utf8')
const tour = page => page.getByRole('region', { name: /^(Tour|导览)$/ })
const button = (page, name) => tour(page).getByRole('button', { name })

for (const { look, given } of LOOKS)
  test(`the tour is beside the page: ${look}`, async ({ open }) => {
    const page = await open(given)
    const offer = page.getByRole('button', { name: /^(Take a short tour|快速导览)$/ })
    await shot(page, `tour-offer-${look}`)
    await offer.click()
    await tour(page).waitFor()
    await shot(page, `tour-1-${look}`)
    assert.deepEqual(await faults(page), [])
    await button(page, /SOUL\.md/).click()
    await page
      .locator('.cm-content')
      .getByText(/greeting from the sea|大海/)
      .waitFor()
    await shot(page, `tour-1-added-${look}`)
  })

test('the tour changes SOUL.md, asks, and opens the X-ray', async ({ app, open }) => {
  const page = await open()
  const before = await soul(app)
  await page.getByRole('button', { name: 'Take a short tour' }).click()
  await button(page, 'Add it to SOUL.md').click()
  await page.locator('.cm-content').getByText(LINE).waitFor()
  assert.equal(await soul(app), before, 'nothing is saved unasked')
  await button(page, 'Save and continue').click()
  await tour(page).getByText('Step 2 of 3').waitFor()
  assert.ok((await soul(app)).endsWith(`\n\n${LINE}\n`))

  await button(page, 'Write a question').click()
  await until(
    () => composer(page).inputValue(),
    text => text.startsWith('What can you help me with?'),
    'the draft',
  )
  await composer(page).press('Enter')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  const sent = (await app.requests())
    .map(body => JSON.stringify(body))
    .filter(body => body.includes('two sentences'))
  assert.ok(sent[0].includes(LINE), 'the request contains the line')

  await button(page, 'Next').click()
  await button(page, 'Open the X-ray').click()
  const xray = page.getByRole('dialog', { name: 'X-ray of this response' })
  await xray.getByText('workspace/SOUL.md').first().waitFor()
  await shot(page, 'tour-xray')
  await page.keyboard.press('Escape')
  await xray.waitFor({ state: 'detached' })
  await button(page, 'Remove the line').click()
  await until(
    () => soul(app),
    text => !text.includes(LINE),
    'the line to go',
  )
  await button(page, 'Done').click()
  await tour(page).waitFor({ state: 'detached' })
})

test('the tour is left by Escape, is not offered again, and starts from the palette', async ({ open }) => {
  const page = await open()
  await page.getByRole('button', { name: 'Take a short tour' }).click()
  await tour(page).waitFor()
  // Its card has the focus, and the page behind it can be used.
  await composer(page).fill('a draft')
  await tour(page).focus()
  await page.keyboard.press('Escape')
  await tour(page).waitFor({ state: 'detached' })
  await page.reload()
  await composer(page).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Take a short tour' }).count(), 0)
  await page.keyboard.press('ControlOrMeta+k')
  await page.getByRole('combobox').fill('short tour')
  await page.keyboard.press('Enter')
  await tour(page).getByText('Step 1 of 3').waitFor()
  // A draft is never replaced.
  await button(page, 'Next').click()
  await button(page, 'Write a question').click()
  assert.equal(await composer(page).inputValue(), 'a draft')
})
