// One long answer: only the elements near the screen are kept, without a visible difference.
import assert from 'node:assert/strict'
import { withMiniclaw } from './fixtures.mjs'
import { answers, composer, say, settled, shot, until } from './harness.mjs'

const SECTIONS = 120
const section = (name, code) =>
  `## ${name} {n}\n\nSome **words** about it, with \`${code}{n}\`.\n\n- one\n- two\n\n\`\`\`ts\nconst ${code}{n} = 1\n\`\`\`\n\n`
const REPLIES = [
  {
    match: 'write at length',
    repeat: true,
    steps: [
      { tokens: { count: SECTIONS, text: section('Section', 'n') } },
      { text: 'The end.' },
      { finish: 'stop' },
    ],
  },
  {
    match: 'and more of it',
    steps: [
      { tokens: { count: SECTIONS, text: section('Section', 'n') } },
      { gate: 'more' },
      { tokens: { count: 100, text: section('Later', 'm') } },
      { text: 'The end.' },
      { finish: 'stop' },
    ],
  },
]

const test = withMiniclaw({ replies: REPLIES })

const log = page => page.getByRole('log')

/** The number of parts of the answer, and how many of them are rendered. */
const parts = page =>
  log(page).evaluate(box => {
    const all = [...box.querySelectorAll('.part')]
    return { all: all.length, there: all.filter(part => part.childElementCount > 0).length }
  })
const fewAreThere = page =>
  until(
    () => parts(page),
    ({ all, there }) => all >= (SECTIONS * 4) / 8 && there > 0 && there < 20,
    'a few parts of many',
  )

/** The visible headings with their positions, once no visible part is empty. */
const seen = page =>
  until(
    () =>
      log(page).evaluate(box => {
        const { top, bottom } = box.getBoundingClientRect()
        const inside = element => {
          const rect = element.getBoundingClientRect()
          return rect.bottom > top && rect.top < bottom
        }
        const missing = [...box.querySelectorAll('.part:empty')].some(inside)
        const headings = [...box.querySelectorAll('.part > .heading-2')].filter(inside)
        return missing
          ? null
          : headings.map(heading => [heading.textContent, heading.getBoundingClientRect().top])
      }),
    headings => headings !== null,
    'all of what is on the screen',
  )

/** Waits until the page has had time to omit and render parts. */
const rest = page =>
  page.evaluate(async () => {
    for (let frames = 0; frames < 6; frames += 1) await new Promise(requestAnimationFrame)
  })

const scrollTo = (page, where) =>
  log(page).evaluate((box, share) => {
    box.scrollTop = share * (box.scrollHeight - box.clientHeight)
  }, where)

async function longAnswer(page) {
  await say(page, 'write at length')
  await answers(page).getByText('The end.').waitFor()
  await settled(page)
}

test('scrolling through a long answer shows every line, and nothing moves', async ({ open }) => {
  const page = await open()
  await longAnswer(page)
  await fewAreThere(page)
  const height = () => log(page).evaluate(box => box.scrollHeight)
  const whole = await height()
  const met = new Set()
  await log(page).hover()
  const at = () => log(page).evaluate(box => box.scrollTop)
  const end = await at()
  for (const [turn, last] of [
    [-600, 0],
    [600, end],
  ]) {
    for (;;) {
      const shown = await seen(page)
      for (const [text] of shown) met.add(text)
      await rest(page)
      assert.deepEqual(await seen(page), shown)
      assert.equal(await height(), whole)
      assert.ok((await parts(page)).there < 20)
      const before = await at()
      if (before === last) break
      const after = Math.min(end, Math.max(0, before + turn))
      await page.mouse.wheel(0, turn)
      await until(at, now => Math.abs(now - after) < 1, 'the view moved by one turn')
    }
    await shot(page, turn < 0 ? 'long-top' : 'long-end')
  }
  assert.equal(met.size, SECTIONS)
})

test('a jump into the middle of a long answer finds its target, also after a reload', async ({ open }) => {
  const page = await open()
  await longAnswer(page)
  await page.waitForURL(/\/s\//)
  await page.reload()
  await answers(page).getByText('The end.').waitFor()
  await fewAreThere(page)
  for (const share of [0.5, 0.1, 0.9]) {
    await scrollTo(page, share)
    await rest(page)
    const shown = await seen(page)
    assert.ok(shown.length > 1)
    await rest(page)
    assert.deepEqual(await seen(page), shown)
    const [first] = shown[0][0].match(/\d+/)
    assert.ok(Math.abs(Number(first) - share * SECTIONS) < 8, `${first} at ${share}`)
  }
  await shot(page, 'long-midst')
  await page.getByRole('button', { name: 'Scroll to latest' }).click()
  await answers(page).getByText('The end.').waitFor()
})

test('search finds, reveals and marks words far down in a long answer', async ({ open }) => {
  const page = await open()
  await longAnswer(page)
  await composer(page).press('Control+f')
  const bar = page.getByRole('search', { name: 'Find in conversation' })
  for (const n of [60, 100, 20]) {
    await bar.getByRole('textbox').fill(`Section ${n}`)
    await bar.getByText('1 of 1').waitFor()
    const found = await until(
      () => seen(page),
      shown => shown.some(([text]) => text === `Section ${n}`),
      `section ${n} on the screen`,
    )
    await rest(page)
    assert.deepEqual(await seen(page), found)
    const marked = await page.evaluate(() => [...CSS.highlights.get('found')].map(range => range.toString()))
    assert.ok(marked.includes(`${n}`), marked.join())
    await shot(page, `long-find-${n}`)
  }
  await fewAreThere(page)
})

test('the view stays in place while a long answer grows below it', async ({ app, open }) => {
  const page = await open()
  await say(page, 'and more of it')
  await answers(page)
    .getByText(`Section ${SECTIONS - 1}`)
    .waitFor()
  await scrollTo(page, 0.5)
  await rest(page)
  const shown = await seen(page)
  await app.openGate('more')
  await settled(page)
  await rest(page)
  assert.deepEqual(await seen(page), shown)
  await fewAreThere(page)
  await page.getByRole('button', { name: 'Scroll to latest' }).click()
  await answers(page).getByText('The end.').waitFor()
})

test('a selection spans all of a long answer, which is released afterwards', async ({ open }) => {
  const page = await open()
  await longAnswer(page)
  await fewAreThere(page)
  await log(page).focus()
  await page.keyboard.press('Control+a')
  const selected = await until(
    () => page.evaluate(() => document.getSelection().toString()),
    text => text.includes('const n0 = 1'),
    'the first section in the selection',
  )
  for (let n = 0; n < SECTIONS; n += 1) assert.ok(selected.includes(`const n${n} = 1`), `section ${n}`)
  await page.evaluate(() => document.getSelection().removeAllRanges())
  await fewAreThere(page)
  // From a place near the end, extended far above it: the part where the selection starts stays while it is out of
  // view.
  const from = answers(page).getByText(`Section ${SECTIONS - 2}`, { exact: true })
  await from.click()
  await scrollTo(page, 0.2)
  await rest(page)
  await answers(page)
    .locator('.heading-2:visible')
    .first()
    .click({ modifiers: ['Shift'] })
  const carried = await until(
    () => page.evaluate(() => document.getSelection().toString()),
    text => text.includes(`const n${SECTIONS - 3} = 1`) && text.includes(`const n${SECTIONS / 2} = 1`),
    'all between the two places',
  )
  assert.ok(!carried.includes(`const n${SECTIONS - 1} = 1`))
  await composer(page).click()
  await fewAreThere(page)
})
