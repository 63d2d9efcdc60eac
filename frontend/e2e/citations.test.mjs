// Citations in an answer: links that open the file at its lines. No request is intercepted.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withMiniclaw } from './fixtures.mjs'
import { answers, say, settled, shot, until } from './harness.mjs'

const ANSWER = [
  'The key goes into a file [knowledge/long.md:40-42], as `memory/MEMORY.md:1` says too.',
  'An old note is gone: knowledge/gone.md:3. So far: knowledge/long.md:900.',
  '',
  '```',
  'knowledge/long.md:1',
  '```',
].join('\n')
const REPLIES = [
  {
    match: 'slow citation',
    steps: [
      { text: 'It stands in [knowledge/long.md:4' },
      { gate: 'cite' },
      { text: '0-42] and ends here.' },
      { finish: 'stop' },
    ],
  },
  { match: 'where does the key go', repeat: true, steps: [{ text: ANSWER }, { finish: 'stop' }] },
]

const LINES = Array.from({ length: 80 }, (_, i) => `Line ${i + 1} of the long file.`)
const test = withMiniclaw({
  replies: REPLIES,
  prepare: app => writeFile(join(app.home, 'knowledge/long.md'), `${LINES.join('\n')}\n`),
})

const marked = page => page.locator('#pane-right .cm-passage')

async function ask(page) {
  await say(page, 'where does the key go')
  await answers(page).getByText('The key goes').waitFor()
  await settled(page)
}

test('a citation opens its file and marks the lines for a moment', async ({ open }) => {
  const page = await open()
  await ask(page)
  await answers(page).getByRole('link', { name: '[knowledge/long.md:40-42]' }).click()
  await marked(page).first().waitFor()
  assert.deepEqual(await marked(page).allInnerTexts(), [
    'Line 40 of the long file.',
    'Line 41 of the long file.',
    'Line 42 of the long file.',
  ])
  assert.ok(await marked(page).nth(1).isVisible())
  await shot(page, 'citation')
  await marked(page).first().waitFor({ state: 'detached' })
})

test('citations are accessible by keyboard, and code contains none', async ({ open }) => {
  const page = await open()
  await ask(page)
  const names = await answers(page).locator('a.passage').allInnerTexts()
  assert.deepEqual(names, [
    '[knowledge/long.md:40-42]',
    'memory/MEMORY.md:1',
    'knowledge/gone.md:3',
    'knowledge/long.md:900',
  ])
  await answers(page).locator('a.passage').nth(1).focus()
  await page.keyboard.press('Enter')
  await marked(page).first().waitFor()
  await page.locator('#pane-right').getByText('memory/MEMORY.md').first().waitFor()
})

test('a citation of a missing place says so', async ({ open }) => {
  const page = await open()
  await ask(page)
  await answers(page).getByRole('link', { name: 'knowledge/gone.md:3' }).click()
  await page.getByText('File not found: knowledge/gone.md').first().waitFor()
  await answers(page).getByRole('link', { name: 'knowledge/long.md:900' }).click()
  await page.getByText('Line 900 not found: knowledge/long.md has 80 lines.').first().waitFor()
})

test('an incomplete citation stays text, and nothing moves when it becomes a link', async ({ app, open }) => {
  const page = await open()
  await say(page, 'slow citation')
  await answers(page).getByText('[knowledge/long.md:4').waitFor()
  assert.equal(await answers(page).locator('a.passage').count(), 0)
  await app.openGate('cite')
  const link = answers(page).getByRole('link', { name: '[knowledge/long.md:40-42]' })
  await link.waitFor()
  await settled(page)
  // The same text without the link has the same width: only the characters take up space.
  const [as, was] = await link.evaluate(a => {
    const now = a.getBoundingClientRect().width
    const plain = document.createElement('span')
    plain.textContent = a.textContent
    a.replaceWith(plain)
    return [now, plain.getBoundingClientRect().width]
  })
  assert.ok(Math.abs(as - was) < 0.5, `${as} is not ${was}`)
})

test('the URL of a citation opens the place in a new tab', async ({ app, open }) => {
  const page = await open()
  await ask(page)
  const href = await answers(page).locator('a.passage').first().getAttribute('href')
  await page.goto(new URL(href, app.url).href)
  await marked(page).first().waitFor()
  await until(
    () => marked(page).allInnerTexts(),
    texts => texts.length === 3,
    'the marked lines',
  )
})
