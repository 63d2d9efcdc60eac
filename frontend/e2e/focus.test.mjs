// Where the focus is, and what the keys and the wheel do there.
import assert from 'node:assert/strict'
import { withMiniclaw } from './fixtures.mjs'
import { answers, composer, say, settled, until } from './harness.mjs'

const lines = (n, of) => Array.from({ length: n }, (_, i) => `${of} ${i + 1}`).join('\n\n')
const REPLIES = [
  {
    match: 'a long one',
    repeat: true,
    steps: [
      { text: `${lines(60, 'Line')}\n\nthe needle is here\n\n${lines(60, 'More')}` },
      { finish: 'stop' },
    ],
  },
  {
    match: 'a formula',
    steps: [{ text: `${lines(30, 'Before')}\n\n$$\nx + y\n$$\n\n${lines(3, 'After')}` }, { finish: 'stop' }],
  },
  {
    match: 'two files',
    steps: [
      { tool_call: { id: 'f1', name: 'create_file', arguments: { path: 'memory/one.md', content: '1\n' } } },
      { tool_call: { id: 'f2', name: 'create_file', arguments: { path: 'memory/two.md', content: '2\n' } } },
      { finish: 'tool_calls' },
    ],
  },
]
const test = withMiniclaw({ replies: REPLIES, config: 'approvals: {tools: {create_file: ask}}\n' })
const log = page => page.getByRole('log')
const focused = page =>
  page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.tagName)
const top = page => log(page).evaluate(element => element.scrollTop)
const fromEnd = page =>
  log(page).evaluate(element => element.scrollHeight - element.scrollTop - element.clientHeight)

test('a menu opens by every key, and gives the focus back', async ({ open }) => {
  const page = await open()
  const trigger = page.getByRole('button', { name: 'Theme' })
  for (const key of ['Enter', ' ', 'ArrowDown']) {
    await trigger.focus()
    await page.keyboard.press(key)
    const first = page.getByRole('menuitemcheckbox').first()
    await first.waitFor()
    await until(
      () => first.evaluate(item => item === document.activeElement),
      Boolean,
      `the focus on the first item after ${key}`,
    )
    await page.keyboard.press('Escape')
    await until(
      () => focused(page),
      name => name === 'Theme',
      'the focus on the trigger',
    )
  }
})

test('a dialog from a menu gives the focus back to the button of the menu', async ({ open }) => {
  const page = await open()
  for (const _ of ['loads', 'is there']) {
    const trigger = page.getByRole('button', { name: 'More actions' })
    await trigger.click()
    await page.getByRole('menuitem', { name: 'Trash and recovery' }).click()
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await until(
      () => trigger.evaluate(button => button === document.activeElement),
      Boolean,
      'the focus on the button',
    )
  }
})

test('typing anywhere goes to the message box, with the first character', async ({ open }) => {
  const page = await open()
  await composer(page).waitFor()
  await page.getByRole('button', { name: 'Theme' }).focus()
  await page.keyboard.type('hello there')
  assert.equal(await composer(page).inputValue(), 'hello there')
  // Not from a field.
  await composer(page).fill('')
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.type('abc')
  assert.equal(await page.locator('[data-composer]').inputValue(), '')
})

test('Home and End lead through the conversation, and sending leads to its end', async ({ open }) => {
  const page = await open()
  await say(page, 'a long one')
  await answers(page).getByText('More 60').waitFor()
  await settled(page)
  await page.evaluate(() => document.activeElement.blur())
  await page.keyboard.press('Home')
  await until(
    () => top(page),
    at => at < 2,
    'the start',
  )
  await page.keyboard.press('End')
  await until(
    () => fromEnd(page),
    left => left < 2,
    'the end',
  )
  await page.keyboard.press('Home')
  await until(
    () => top(page),
    at => at < 2,
    'the start',
  )
  await say(page, 'and now')
  await until(
    () => fromEnd(page),
    left => left < 2,
    'the end',
  )
})

test('the search opens from the session list, and shows the word itself', async ({ open }) => {
  const page = await open()
  await say(page, 'a long one')
  await answers(page).getByText('More 60').waitFor()
  await settled(page)
  await page.getByRole('button', { name: 'Theme' }).focus()
  await page.keyboard.press('Control+f')
  const field = page.getByRole('textbox', { name: 'Find in conversation' })
  await field.fill('needle')
  await until(
    () =>
      page.evaluate(() => {
        const view = document.querySelector('[role=log]').getBoundingClientRect()
        const found = [...(CSS.highlights.get('found') ?? [])].map(range => range.getBoundingClientRect())
        return found.some(word => word.height > 0 && word.top >= view.top && word.bottom <= view.bottom)
      }),
    Boolean,
    'the word in view',
  )
  // Again: back into the field, with its text selected.
  await page.getByRole('button', { name: 'Theme' }).focus()
  await page.keyboard.press('Control+f')
  await until(
    () => field.evaluate(box => box === document.activeElement && box.selectionEnd > box.selectionStart),
    Boolean,
    'the selected text',
  )
  await page.keyboard.type('Line')
  assert.equal(await field.inputValue(), 'Line')
})

test('the wheel over a formula scrolls the conversation', async ({ open }) => {
  const page = await open()
  await say(page, 'a formula')
  const formula = page.locator('.formula')
  await formula.waitFor()
  await settled(page)
  await until(
    () => fromEnd(page),
    left => left < 2,
    'the end',
  )
  const before = await top(page)
  assert.ok(before > 200)
  await formula.hover()
  await page.mouse.wheel(0, -120)
  await until(
    () => top(page),
    at => at < before - 50,
    'the conversation has moved',
  )
})

test('after a decision the focus is on the next card, then in the message box', async ({ open }) => {
  const page = await open()
  await say(page, 'two files')
  const cards = page.locator('[data-approval]')
  await cards.nth(1).waitFor()
  const second = await cards.nth(1).getAttribute('data-approval')
  await cards
    .first()
    .getByRole('button', { name: /Allow once/ })
    .click()
  await until(
    () => page.evaluate(() => document.activeElement.dataset.approval),
    id => id === second,
    'the focus on the second card',
  )
  await cards
    .first()
    .getByRole('button', { name: /Allow once/ })
    .click()
  await until(
    () => focused(page),
    name => name === 'Message',
    'the focus in the message box',
  )
})

test('the actions of a message are one stop of Tab, and are seen while they have the focus', async ({
  open,
}) => {
  const page = await open()
  await say(page, 'good morning')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  const bar = answers(page).getByRole('toolbar', { name: 'Message actions' })
  const seen = () =>
    bar
      .getByRole('button')
      .evaluateAll(all => all.every(button => button.checkVisibility({ opacityProperty: true })))
  await page.mouse.move(0, 0)
  await until(seen, shown => !shown, 'the actions to fade')
  const pressed = async (...all) => {
    for (const key of all) await page.keyboard.press(key)
    return focused(page)
  }
  await answers(page).focus()
  assert.match(await pressed('Tab'), /^Copy message/)
  await until(seen, Boolean, 'the actions to be seen')
  assert.match(await pressed('ArrowRight'), /^Copy as rich text/)
  assert.match(await pressed('End'), /^Pin message/)
  // Pressed, it becomes the opposite, and keeps its place and the focus.
  await page.keyboard.press('Enter')
  await bar.getByRole('button', { name: 'Unpin message' }).waitFor()
  assert.equal(await focused(page), 'Unpin message')
  assert.match(await pressed('ArrowRight'), /^Copy message/)
  assert.match(await pressed('ArrowLeft', 'Home', 'ArrowRight', 'ArrowRight'), /^Regenerate/)
  const isInside = bar => bar.evaluate(element => element.contains(document.activeElement))
  await pressed('Tab')
  assert.equal(await isInside(bar), false)
  assert.match(await pressed('Shift+Tab'), /^Regenerate/)
  await pressed('Shift+Tab')
  assert.equal(await isInside(bar), false)
  assert.equal(await isInside(page.getByRole('article', { name: 'You', exact: true })), true)
})
