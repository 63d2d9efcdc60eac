// The page at every size: three panes, two and a sheet, or one; all of it is reachable. With SHOTS or MINICLAW_THOROUGH, the
// dialogs are tried at three sizes.
import assert from 'node:assert/strict'
import { EVERY_LOOK, withMiniclaw } from './fixtures.mjs'
import { answers, composer, say, settled, shot } from './harness.mjs'
import { MORE, openConversation, prepare, SURFACES, still } from './surfaces.mjs'

const test = withMiniclaw({
  prepare,
  replies: [
    { match: 'where', repeat: true, steps: [{ text: 'It is in memory/MEMORY.md:1.' }, { finish: 'stop' }] },
  ],
})

const sheet = page => page.getByRole('dialog', { name: /^(Inspector|检查器)$/ })
const toggle = page => page.locator('#toggle-inspector')

for (const width of [768, 1024, 1199])
  test(`at ${width} px the inspector is a sheet`, async ({ open }) => {
    const page = await open({ viewport: { width, height: 800 } })
    await page.locator('#pane-left').waitFor()
    assert.equal(await page.locator('#pane-right').count(), 0, 'the chat has the room')
    await toggle(page).click()
    await sheet(page).locator('#pane-right').waitFor()
    await page.keyboard.press('Escape')
    await sheet(page).waitFor({ state: 'detached' })
    // The focus returns once the sheet is gone.
    await page.locator('#toggle-inspector:focus').waitFor()
    // A link opens it, too; its own button closes it, and the link has the focus again.
    await say(page, 'where is it')
    await settled(page)
    const link = answers(page).getByRole('link', { name: 'memory/MEMORY.md:1' })
    await link.click()
    await sheet(page).locator('.cm-content').waitFor()
    await shot(page, `sheet-${width}`)
    await sheet(page).getByRole('button', { name: 'Close', exact: true }).click()
    await sheet(page).waitFor({ state: 'detached' })
    await page.waitForFunction(element => element === document.activeElement, await link.elementHandle())
  })

test('a file from the palette opens the sheet, and its menus are in it', async ({ open }) => {
  const page = await open({ viewport: { width: 1100, height: 800 } })
  await page.keyboard.press('ControlOrMeta+k')
  await page.getByRole('combobox').fill('SOUL.md')
  await page.getByRole('option', { name: /SOUL\.md/ }).click()
  await sheet(page).locator('.cm-content').waitFor()
  await sheet(page).getByRole('treeitem').first().hover()
  await sheet(page).locator('[aria-haspopup=menu]').first().click()
  // What is outside the sheet is hidden from a screen reader, and from this query.
  await page.getByRole('menuitem').first().waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('menuitem').first().waitFor({ state: 'detached' })
  await page.keyboard.press('Escape')
  await sheet(page).waitFor({ state: 'detached' })
  await page.waitForFunction(() => document.activeElement !== document.body)
})

test('three panes begin at 1200 px, and a smaller window gives the chat the room', async ({ open }) => {
  const page = await open({ viewport: { width: 1200, height: 800 } })
  await page.locator('main #pane-right').waitFor()
  await page
    .getByRole('treeitem', { name: /MEMORY\.md/ })
    .first()
    .click()
  await page.locator('.cm-content').waitFor()
  await page.setViewportSize({ width: 1199, height: 800 })
  await page.locator('#pane-right').waitFor({ state: 'detached' })
  await toggle(page).click()
  await sheet(page).locator('.cm-content').waitFor()
  await page.setViewportSize({ width: 600, height: 800 })
  await page.locator('main #pane-right .cm-content').waitFor()
})

for (const width of [768, 1100])
  test(`at ${width} px the tour is used beside the sheet`, async ({ open }) => {
    const page = await open({ viewport: { width, height: 800 } })
    const tour = page.getByRole('region', { name: 'Tour' })
    await page.getByRole('button', { name: 'Take a short tour' }).click()
    await tour.getByRole('button', { name: 'Add it to SOUL.md' }).click()
    await sheet(page).locator('.cm-content').waitFor()
    const [card, over] = [await tour.boundingBox(), await sheet(page).boundingBox()]
    assert.ok(card.x + card.width <= over.x, 'nothing overlaps')
    await shot(page, `tour-sheet-${width}`)
    await tour.getByRole('button', { name: 'Save and continue' }).click()
    await tour.getByText('Step 2 of 3').waitFor()
    await tour.getByRole('button', { name: 'Write a question' }).click()
    await sheet(page).waitFor({ state: 'detached' })
    await page.waitForFunction(() => document.activeElement?.matches('[data-composer]'))
    assert.notEqual(await composer(page).inputValue(), '')
    await tour.getByRole('button', { name: 'Next' }).click()
    // The line is removed, so that the next of these tests begins as this one did.
    await tour.getByRole('button', { name: 'Remove the line' }).click()
    await tour.getByRole('button', { name: 'Done' }).click()
  })

const status = page => page.locator('#status-area')
const fold = page => page.getByRole('button', { name: 'Show or hide status area' })
const heightOf = async locator => (await locator.boundingBox()).height

test('the status area is folded by its button, and stays so', async ({ open }) => {
  const page = await open()
  const whole = await heightOf(status(page))
  await fold(page).click()
  await status(page).getByRole('switch').waitFor({ state: 'detached' })
  assert.ok((await heightOf(status(page))) <= 44 && whole > 120, `${whole}`)
  await page.reload()
  await composer(page).waitFor()
  await status(page).getByRole('meter', { name: 'Context' }).waitFor()
  assert.equal(await status(page).getByRole('switch').count(), 0)
  await status(page).getByText('Connected').waitFor()
  await status(page).getByRole('button', { name: 'Settings' }).waitFor()
  await fold(page).click()
  await status(page).getByRole('switch').waitFor()
})

for (const [size, viewport] of Object.entries({
  'a 1280×800 window at 200 %': { width: 640, height: 400 },
  'a low window': { width: 1280, height: 400 },
}))
  test(`the conversations have room beside the folded status area in ${size}`, async ({ open }) => {
    const page = await open({ viewport })
    if (viewport.width < 768) await page.getByRole('button', { name: 'Conversations' }).click()
    const list = page.locator('#pane-left > .scroll').first()
    await list.waitFor()
    assert.ok((await heightOf(list)) >= 120, `${await heightOf(list)} px`)
    // Opening it there is possible, too, and lasts until the window is higher.
    await fold(page).click()
    await status(page).getByRole('switch').waitFor()
    await status(page).getByRole('button', { name: 'Settings' }).click()
    await page.getByRole('dialog', { name: 'Settings' }).waitFor()
  })

test('a large screen gives the panes beside the chat more room, and keeps its lines short', async ({
  open,
}) => {
  const page = await open({ viewport: { width: 2560, height: 1440 } })
  await page.locator('#pane-right').waitFor()
  const widthOf = async selector => (await page.locator(selector).boundingBox()).width
  assert.ok((await widthOf('#pane-right')) >= 560)
  assert.ok((await widthOf('#pane-left')) >= 300)
  assert.ok((await widthOf('form:has([data-composer])')) <= 784)
})

/** What of the open dialog is outside the window, or cannot be scrolled into its view. */
const outOfReach = page =>
  page.evaluate(() => {
    const found = []
    for (const button of document.querySelectorAll('[role=dialog] :is(button, input, a[href], summary)')) {
      if (!button.checkVisibility({ visibilityProperty: true }) || button.closest('.sr-only')) continue
      button.scrollIntoView({ block: 'center' })
      const { left, right, top, bottom } = button.getBoundingClientRect()
      if (right - left < 2) continue
      const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2)
      const reached =
        hit && (button.contains(hit) || hit.contains(button) || button.closest('label')?.contains(hit))
      const inside = left >= 0 && right <= innerWidth + 0.5 && top >= -0.5 && bottom <= innerHeight + 0.5
      if (!inside || (!reached && !button.disabled))
        found.push(
          `${button.getAttribute('aria-label') ?? button.textContent}: ${[left, top, right, bottom].map(Math.round)}`,
        )
    }
    return found
  })

for (const [size, viewport] of Object.entries({
  'a phone held sideways': { width: 568, height: 320 },
  ...(EVERY_LOOK && {
    'a small phone': { width: 320, height: 568 },
    'a window at 200 %': { width: 640, height: 400 },
  }),
}))
  test(`everything in the dialogs is reachable in ${size}`, async ({ open }) => {
    const found = []
    const page = await openConversation(open, { viewport })
    for (const [name, show] of Object.entries({ ...SURFACES, ...MORE })) {
      const close = await show(page)
      await still(page)
      found.push(...(await outOfReach(page)).map(line => `${name}: ${line}`))
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      if (wide > 0) found.push(`${name}: the page is ${wide} px too wide`)
      await close()
    }
    assert.deepEqual(found, [])
  })

test('the composer is usable above an on-screen keyboard', async ({ open }) => {
  const page = await open({ viewport: { width: 320, height: 568 }, hasTouch: true, isMobile: true })
  await composer(page).tap()
  // What is left above the keyboard: the page is told to resize for it.
  await page.setViewportSize({ width: 320, height: 290 })
  const bar = page.locator('nav').last()
  await bar.waitFor({ state: 'hidden' })
  await composer(page).fill('One\n'.repeat(20))
  const [field, send] = [
    await composer(page).boundingBox(),
    await page.getByRole('button', { name: 'Send' }).boundingBox(),
  ]
  assert.ok(field.y >= 44, `the field begins at ${field.y}`)
  assert.ok(send.y + send.height <= 290, `the button ends at ${send.y + send.height}`)
  await page.getByRole('button', { name: 'Send' }).tap()
  await answers(page).getByText('All right.').waitFor()
})
