// A citation of a past message opens it wherever it is: a summary replaces it, or it is on another version of its conversation.
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, ask, shot, until } from './harness.mjs'

const id = n => `01a22139-7906-7700-b54a-${String(n).padStart(12, '0')}`
const said = (n, content) => ({
  ...{ role: n % 2 ? 'assistant' : 'user', id: id(n), work_id: `w${n - (n % 2)}`, content },
  created_at: 1_700_000_000 + n,
})
const exchange = (n, asked, answered) => [said(n, asked), said(n + 1, answered)]
const more = from =>
  Array.from({ length: 8 }, (_, i) => exchange(from + 2 * i, `Question ${i}`, 'It rains. '.repeat(60))).flat()
const session = (title, rest) => JSON.stringify({ title, created_at: 1, updated_at: 1_700_000_900, ...rest })
const ARCHIVE = 'compacted_20261128T070000.000Z.json'

const cited = (session, n) => `[${session}:${id(n)}]`
const test = withMiniclaw({
  prepare: async app => {
    const sessions = join(app.home, 'sessions')
    await mkdir(join(sessions, 'archive'), { recursive: true })
    const older = [
      ...exchange(0, 'Hello.', 'Hello.'),
      ...exchange(2, 'We meet at the **harbour** on Friday.', 'Noted: *the harbour*, on Friday.'),
      ...exchange(4, 'And bring tea.', 'I keep that in mind.'),
    ]
    await writeFile(join(sessions, 'archive', ARCHIVE), JSON.stringify(older))
    const answer = `At the harbour ${cited('compacted', 2)}, not in the park ${cited('branched', 42)}. It was deleted ${cited('branched', 99)}.`
    await writeFile(
      join(sessions, 'now.json'),
      session('Where we meet', { messages: exchange(60, 'Where do we meet?', answer) }),
    )
    await writeFile(
      join(sessions, 'compacted.json'),
      session('The meeting', {
        messages: more(6),
        compressed_context: 'They planned a meeting.',
        archived: [{ archive: ARCHIVE, count: older.length, summary: 'They planned a meeting.' }],
      }),
    )
    await writeFile(
      join(sessions, 'branched.json'),
      session('The park', {
        messages: [...exchange(20, 'Let us plan.', 'Gladly.'), ...more(22)],
        branches: [
          {
            after: id(21),
            messages: [
              ...exchange(40, 'Where could we meet?', 'Anywhere.'),
              ...exchange(42, 'We meet in the park.', 'Noted.'),
            ],
          },
        ],
      }),
    )
  },
})

const NAMES = {
  en: {
    cited: 'Cited message',
    summary: /A summary replaces/,
    other: /another version/,
    go: 'Switch to this version',
  },
  zh: { cited: '被引用的消息', summary: /已由摘要取代/, other: /另一个版本/, go: '切换到此版本' },
}
/** Whether the message is in view, whole. */
const isSeen = locator =>
  locator.evaluate(element => {
    const { top, bottom } = element.getBoundingClientRect()
    return top >= 0 && bottom <= innerHeight
  })

/** The conversation with the citations. */
const CITING = '/s/now'

for (const { look, given } of LOOKS) {
  const names = NAMES[given.lang]

  test(`a message that a summary replaces is shown below it (${look})`, async ({ open }) => {
    const page = await open({ ...given, path: CITING })
    await answers(page)
      .getByRole('link', { name: cited('compacted', 2) })
      .click()
    const shown = page.getByRole('region', { name: names.cited })
    const message = shown.locator('li[aria-current]')
    await message.getByText('We meet at the **harbour** on Friday.').waitFor()
    await shown.getByText(names.summary).waitFor()
    await shown.getByText('And bring tea.').waitFor()
    await page.getByText('They planned a meeting.').waitFor()
    await until(
      () => isSeen(message),
      seen => seen,
      'the message in view',
    )
    assert.equal(await shown.getByRole('button', { name: names.go }).count(), 0)
    await shot(page, `recall-cited-summary-${look}`)
  })

  test(`a message of another version is shown, and can be switched to (${look})`, async ({ app, open }) => {
    const page = await open({ ...given, path: CITING })
    await answers(page)
      .getByRole('link', { name: cited('branched', 42) })
      .click()
    const shown = page.getByRole('region', { name: names.cited })
    const message = shown.locator('li[aria-current]')
    await message.getByText('We meet in the park.').waitFor()
    await shown.getByText(names.other).waitFor()
    await until(
      () => isSeen(message),
      seen => seen,
      'the message in view',
    )
    await shot(page, `recall-cited-version-${look}`)
    const before = await ask(app, '/api/sessions/branched/history')
    assert.equal(before.messages[2].id, id(22), 'looking at it switches nothing')
    await shown.getByRole('button', { name: names.go }).click()
    await shown.waitFor({ state: 'detached' })
    await page
      .locator(`[data-message="${id(42)}"][data-target]`)
      .getByText('We meet in the park.')
      .waitFor()
    await shot(page, `recall-cited-switched-${look}`)
    const after = await ask(app, '/api/sessions/branched/history')
    assert.equal(after.messages.at(-2).id, id(42))
    const back = { message_id: id(40), to: id(22) }
    const headers = { 'content-type': 'application/json' }
    await ask(app, '/api/sessions/branched/rewind', { method: 'POST', headers, body: JSON.stringify(back) })
  })
}

test('a message that was deleted is said to be gone', async ({ open }) => {
  const page = await open({ path: CITING })
  await answers(page)
    .getByRole('link', { name: cited('branched', 99) })
    .click()
  await page.getByRole('region', { name: 'no longer in the conversation' }).waitFor()
  assert.equal(await page.getByRole('region', { name: 'Cited message' }).count(), 0)
})
