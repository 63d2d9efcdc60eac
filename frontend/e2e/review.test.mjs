// Reviewing what an answer changed in a file: each difference is kept, or the earlier text is brought back.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, withMiniclaw } from './fixtures.mjs'
import { answers, MOBILE, say, settled, shot, until } from './harness.mjs'

const FILE = 'memory/MEMORY.md'
const projects = Array.from({ length: 60 }, (_, n) => `- Project ${n + 1}\n`).join('')
const notes = (drink, day) =>
  `# Memory\n\n## Person\n\n- Likes ${drink}.\n\n## Projects\n\n${projects}\n## Decisions\n\n- We meet on ${day}.\n`

const edit = (id, search, replace) => ({
  tool_call: { id, name: 'edit_file', arguments: { path: FILE, edits: [{ search, replace }] } },
})
const call = (id, name, args) => ({ tool_call: { id, name, arguments: args } })
const test = withMiniclaw({
  replies: [
    {
      match: 'by touch',
      steps: [
        edit('t1', 'tea', 'coffee, and would rather have it without sugar'),
        edit('t2', '- Project 2\n', '- Project 2\n- A project that is new\n'),
        edit('t3', '- Project 4\n', ''),
        { finish: 'tool_calls' },
      ],
    },
    ...['by mouse', 'keys on 1440', 'keys on 700'].map(match => ({
      match,
      steps: [edit('c1', 'tea', 'coffee'), edit('c2', 'Monday', 'Friday'), { finish: 'tool_calls' }],
    })),
    {
      match: 'Tidy up',
      steps: [
        call('n1', 'create_file', { path: 'memory/new.md', content: 'new\n' }),
        call('d1', 'delete_file', { path: 'memory/old.md' }),
        { finish: 'tool_calls' },
      ],
    },
  ],
  config: 'approvals: {tools: {create_file: unattended, edit_file: unattended, delete_file: unattended}}\n',
})

const pane = page => page.locator('#pane-right')
const text = page => pane(page).locator('.cm-content')
const onDisk = app => readFile(join(app.home, FILE), 'utf8')
/** What is compared and shown of the earlier text. */
const earlier = page => pane(page).locator('.cm-deletedChunk')
const focused = page => page.evaluate(() => document.activeElement.textContent)

async function changeNotes(app, page, words) {
  await writeFile(join(app.home, FILE), notes('tea', 'Monday'))
  await say(page, words)
  await answers(page).last().getByText('All right.').waitFor()
  await settled(page)
  assert.equal(await onDisk(app), notes('coffee', 'Friday'))
}

test('each difference of an answer is kept or taken back', async ({ app, open }) => {
  const page = await open()
  await changeNotes(app, page, 'by mouse')
  const changed = answers(page).last().getByRole('group', { name: 'Changed files' })
  await changed.getByRole('button', { name: `Review ${FILE}` }).click()
  await earlier(page).getByText('- Likes tea.').waitFor()
  await until(
    () => text(page).evaluate(it => it === document.activeElement),
    Boolean,
    'the focus in the text',
  )
  await pane(page).getByText('- Likes coffee.').waitFor()
  assert.deepEqual(await faults(page), [])
  await shot(page, 'review-wide-light-en')
  await earlier(page).getByRole('button', { name: 'Revert change' }).first().click()
  await earlier(page).getByText('- Likes tea.').waitFor({ state: 'detached' })
  await page.keyboard.press('Control+End')
  await earlier(page).getByText('- We meet on Monday.').waitFor()
  await earlier(page).getByRole('button', { name: 'Keep change' }).click()
  await earlier(page).waitFor({ state: 'detached' })
  assert.equal(await onDisk(app), notes('coffee', 'Friday'), 'nothing is saved while a person compares')
  await page.keyboard.press('Control+s')
  await until(
    () => onDisk(app),
    now => now === notes('tea', 'Friday'),
    'the saved file',
  )
  await pane(page).getByRole('button', { name: 'Close comparison' }).waitFor({ state: 'detached' })
})

for (const width of [1440, 700]) {
  test(`a review works by keyboard, and ends with the comparison, ${width} px wide`, async ({
    app,
    open,
  }) => {
    const page = await open({ viewport: { width, height: 800 } })
    await changeNotes(app, page, `keys on ${width}`)
    await answers(page)
      .last()
      .getByRole('button', { name: `Review ${FILE}` })
      .focus()
    await page.keyboard.press('Enter')
    await earlier(page).getByText('- Likes tea.').waitFor()
    await until(
      () => text(page).evaluate(it => it === document.activeElement),
      Boolean,
      'the focus in the text',
    )
    await page.keyboard.press('Tab')
    await until(
      () => focused(page),
      name => name === 'Keep change',
      'the first choice',
    )
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await earlier(page).getByText('- We meet on Monday.').waitFor()
    await until(
      () => focused(page),
      name => name === 'Revert change',
      'the same choice of the next difference',
    )
    await page.keyboard.press('Space')
    await earlier(page).waitFor({ state: 'detached' })
    assert.equal(await text(page).evaluate(it => it === document.activeElement), true)
    await page.keyboard.press('Alt+d')
    await until(
      () => onDisk(app),
      now => now === notes('tea', 'Monday'),
      'the earlier text, saved automatically',
    )
  })
}

test('a new file says so, and a deleted or restored one has no review', async ({ app, open }) => {
  await writeFile(join(app.home, 'memory/old.md'), 'old\n')
  const page = await open()
  await say(page, 'Tidy up')
  await answers(page).last().getByText('All right.').waitFor()
  await settled(page)
  const changed = answers(page).last().getByRole('group', { name: 'Changed files' })
  const reviews = changed.getByRole('button', { name: /^Review/ })
  assert.deepEqual(await reviews.allTextContents(), ['Review memory/new.md'])
  await reviews.click()
  await page.getByText('memory/new.md didn’t exist before this response.').first().waitFor()
  await text(page).getByText('new').waitFor()
  assert.equal(await earlier(page).count(), 0)
  await changed.getByRole('button', { name: 'Undo memory/new.md' }).click()
  await reviews.waitFor({ state: 'detached' })
})

test('a phone shows the comparison, with choices that a finger can touch', async ({ app, open }) => {
  const page = await open({ ...MOBILE, theme: 'dark', lang: 'zh' })
  await writeFile(join(app.home, FILE), notes('tea', 'Monday'))
  await page.getByRole('textbox', { name: '消息', exact: true }).fill('by touch')
  await page.getByRole('textbox', { name: '消息', exact: true }).press('Control+Enter')
  await answers(page).last().getByText('All right.').waitFor()
  await settled(page)
  await shot(page, 'review-row-narrow-dark-zh')
  await answers(page)
    .last()
    .getByRole('button', { name: `查看更改 ${FILE}` })
    .tap()
  const back = earlier(page).getByRole('button', { name: '还原更改' }).first()
  await back.waitFor()
  assert.deepEqual(await faults(page), [])
  await shot(page, 'review-narrow-dark-zh')
  const { width, height } = await back.boundingBox()
  assert.ok(width >= 44 && height >= 44, `${width} × ${height}`)
  await back.tap()
  await earlier(page).getByText('- Likes tea.').waitFor({ state: 'detached' })
  await text(page).getByText('- Likes tea.').waitFor()
})
