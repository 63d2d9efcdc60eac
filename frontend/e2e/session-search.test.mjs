// A match of the search in conversations that is folded in a call, or in an attached file.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, withMiniclaw } from './fixtures.mjs'
import { answers, MOBILE, shot, until } from './harness.mjs'

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
    attachments: [{ name: 'sea.txt', extension: 'txt', content: `${lines(100, 'wave')}\na dugong` }],
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
const inView = (page, word, name = 'found') =>
  until(
    () =>
      page.evaluate(
        ([word, name]) =>
          [...(CSS.highlights.get(name) ?? [])].some(range => {
            const place = range.getBoundingClientRect()
            let seen = place.height > 0 && range.toString().toLowerCase() === word
            for (let box = range.startContainer.parentElement; box; box = box.parentElement) {
              if (!/auto|scroll|hidden/.test(getComputedStyle(box).overflowY)) continue
              const view = box.getBoundingClientRect()
              if (place.bottom > view.bottom + 1 || place.top < view.top - 1) seen = false
            }
            return seen
          }),
        [word, name],
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

test('a match in an attached file opens the file, and the word is in view', async ({ open }) => {
  const page = await open()
  await choose(page, 'dugong')
  const file = page.getByRole('dialog', { name: 'sea.txt' })
  await file.waitFor()
  await inView(page, 'dugong', 'found-in-file')
  assert.deepEqual(await faults(page), [])
  await shot(page, 'hit-file')
  await page.keyboard.press('Escape')
  await file.waitFor({ state: 'detached' })
  await page.getByRole('article', { name: 'You' }).getByText('See the file').waitFor()
  await page.getByText('1 of 1').waitFor()
  await until(
    () => page.evaluate(() => document.activeElement.title),
    title => title === 'View sea.txt',
    'the focus on the file',
  )
  // It opens once: a message that is scrolled out of view and back again shows no file.
  await page.keyboard.press('End')
  await page.getByText('A paragraph 60').waitFor()
  await page.keyboard.press('Home')
  await page.getByText('See the file').waitFor()
  assert.equal(await page.getByRole('dialog').count(), 0)
})

test('on a phone, the file opens too, and after it the message is in view', async ({ open }) => {
  const page = await open({ ...MOBILE, theme: 'dark', lang: 'zh' })
  await page.getByRole('button', { name: '对话列表', exact: true }).last().click()
  await page.getByRole('textbox', { name: '搜索对话' }).fill('dugong')
  await page.getByRole('link', { name: 'dugong' }).click()
  const file = page.getByRole('dialog', { name: 'sea.txt' })
  await file.waitFor()
  await inView(page, 'dugong', 'found-in-file')
  assert.deepEqual(await faults(page), [])
  await shot(page, 'hit-file-mobile')
  await file.getByRole('button', { name: '关闭' }).click()
  await file.waitFor({ state: 'detached' })
  await until(
    () => page.getByText('See the file').boundingBox(),
    place => place !== null && place.y > 0 && place.y < 400,
    'the message in view',
  )
})
