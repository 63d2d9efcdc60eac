// A match of the search in conversations that is folded in a call, or in an attached file.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withMiniclaw } from './fixtures.mjs'
import { answers, shot, until } from './harness.mjs'

const lines = (n, of) => Array.from({ length: n }, (_, i) => `${of} ${i + 1}`).join('\n')
const call = (id, tool, input, output, index) => ({
  id,
  tool,
  input,
  output,
  index,
  dialogue: 0,
  status: 'done',
})
const messages = [
  { role: 'user', content: 'Search the notes', id: 'q1', work_id: 'w1' },
  {
    ...{ role: 'assistant', content: 'Done with it.', id: 'a1', work_id: 'w1' },
    tool_calls: [
      call('c1', 'read_file', 'notes.md', 'nothing', 0),
      call('c2', 'terminal', 'cat zoo.txt', `${lines(100, 'row')}\na manatee swims\n${lines(100, 'row')}`, 1),
    ],
  },
  {
    ...{ role: 'user', content: 'See the file', id: 'q2', work_id: 'w2' },
    attachments: [{ name: 'sea.txt', extension: 'txt', content: `${lines(20, 'wave')}\na dugong` }],
  },
  { role: 'assistant', content: lines(60, 'A paragraph'), id: 'a2', work_id: 'w2' },
]
const test = withMiniclaw({
  prepare: app =>
    writeFile(
      join(app.home, 'sessions/sea.json'),
      JSON.stringify({ title: 'The sea', created_at: 1, updated_at: Date.now() / 1000, messages }),
    ),
})

async function choose(page, words) {
  await page.getByRole('textbox', { name: 'Search conversations' }).fill(words)
  await page.getByRole('region', { name: 'Search results' }).getByRole('link', { name: words }).click()
}

/** Whether a marked word is in view of every box that scrolls. */
const inView = (page, word) =>
  until(
    () =>
      page.evaluate(
        word =>
          [...(CSS.highlights.get('found') ?? [])].some(range => {
            const place = range.getBoundingClientRect()
            let seen = place.height > 0 && range.toString().toLowerCase() === word
            for (let box = range.startContainer.parentElement; box; box = box.parentElement) {
              if (!/auto|scroll|hidden/.test(getComputedStyle(box).overflowY)) continue
              const view = box.getBoundingClientRect()
              if (place.bottom > view.bottom + 1 || place.top < view.top - 1) seen = false
            }
            return seen
          }),
        word,
      ),
    seen => seen,
    `${word} in view`,
  )

test('a match in a folded call unfolds it, and the word is in view', async ({ open }) => {
  const page = await open()
  await choose(page, 'manatee')
  await inView(page, 'manatee')
  const steps = answers(page).first().locator('details.chain details')
  assert.deepEqual(await steps.evaluateAll(all => all.map(step => step.open)), [false, true])
  await shot(page, 'hit-call')
})

test('a match in an attached file leads to its message', async ({ open }) => {
  const page = await open()
  await choose(page, 'dugong')
  await page.getByRole('article', { name: 'You' }).getByText('See the file').waitFor()
  await page.getByText('1 of 1').waitFor()
})
