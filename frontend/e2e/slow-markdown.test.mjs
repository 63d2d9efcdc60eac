// Answers that are slow to lex as Markdown: the page stays responsive, and shows them as they were written.
import assert from 'node:assert/strict'
import { withMiniclaw } from './fixtures.mjs'
import { answers, composer, say, settled } from './harness.mjs'

const EMPHASIS = '*a_'.repeat(8_000)
const BRACKETS = `${'[a]('.repeat(1_500)}[link](https://example.com)`
const LAZY = `- item\n${'b\n'.repeat(2_500)}`
const reply = (match, text) => ({ match, repeat: true, steps: [{ text }, { finish: 'stop' }] })

const test = withMiniclaw({
  replies: [
    reply('emphasis', `Before.\n\n${EMPHASIS}\n\n**After** it.`),
    reply('brackets', BRACKETS),
    reply('lazy', LAZY),
  ],
})

/** Records the duration of the page's longest task in milliseconds, also after a reload. */
const watch = page =>
  page.addInitScript(() => {
    window.longest = 0
    new PerformanceObserver(list => {
      for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration)
    }).observe({ type: 'longtask', buffered: true })
  })
const longest = page => page.evaluate(() => window.longest)
/** Milliseconds. Lexing such a text takes minutes; everything else takes a tenth of this on an ordinary machine. */
const BLOCKED = 3_000
/**
 * Resolves when a worker is terminated, which happens if a text takes too long. Has to be called before there is a
 * worker.
 */
const givenUp = page => page.waitForEvent('worker').then(worker => worker.waitForEvent('close'))

/** Checks that the block is shown with all of its characters, and the rest of the answer is rendered as usual. */
async function asWritten(page) {
  const answer = answers(page).last()
  await answer.locator('strong', { hasText: 'After' }).waitFor()
  const paragraphs = await answer.locator('p').allTextContents()
  assert.deepEqual([paragraphs[0], paragraphs[1] === EMPHASIS], ['Before.', true])
}

test('an answer of 8,000 unclosed emphases never blocks the page', async ({ open }) => {
  const page = await open()
  await watch(page)
  await page.reload()
  const gone = givenUp(page)
  await say(page, 'emphasis')
  await settled(page)
  await asWritten(page)
  await gone
  const coming = await longest(page)
  assert.ok(coming < BLOCKED, `a task of ${coming} ms while it came`)
  const goneAgain = givenUp(page)
  await page.reload()
  await asWritten(page)
  await goneAgain
  await asWritten(page)
  const opening = await longest(page)
  assert.ok(opening < BLOCKED, `a task of ${opening} ms at its opening`)
  assert.ok(await composer(page).isEnabled())
})

test('text lexed in the worker renders as usual', async ({ open }) => {
  const page = await open()
  await say(page, 'brackets')
  await settled(page)
  await answers(page).last().getByRole('link', { name: 'link', exact: true }).waitFor()
  await say(page, 'lazy')
  await settled(page)
  await answers(page).last().getByRole('listitem').first().waitFor()
})
