// The second half of the walk by keyboard: conversations, files, sizes and languages. docs/keyboard-walk.md is its
// written form.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { answers, ask, settled, until } from './harness.mjs'
import { walkThrough } from './walk.mjs'

const talk = (title, ago, words = []) =>
  JSON.stringify({
    title,
    created_at: 1,
    updated_at: Date.now() / 1000 - ago,
    messages: words.map((content, n) => ({
      ...{ role: n % 2 ? 'assistant' : 'user', content },
      ...{ id: `${title}-${n}`, work_id: `${title}-w${n - (n % 2)}` },
    })),
  })
const FILLER = Array.from({ length: 40 }, (_, n) => `Paragraph ${n}. ${'Nothing here. '.repeat(20)}`)
const DEEP = [...FILLER, 'The wombat sleeps.', ...FILLER].join('\n\n')
const TALKS = {
  burrow: talk('Burrow', 60, ['Who lives here?', DEEP]),
  apples: talk('Apples', 90, ['Which?', 'Red ones.']),
  cherries: talk('Cherries', 120, ['When?', 'In June.']),
}

const walk = walkThrough({
  config: 'find_local_models: false\n',
  prepare: async app => {
    for (const [id, text] of Object.entries(TALKS))
      await writeFile(join(app.home, `sessions/${id}.json`), text)
  },
})

const MESSAGE = ['textbox', 'Message']
const sidebar = page => page.getByRole('navigation', { name: 'Conversations' })
const sessions = app => ask(app, '/api/sessions')
const text = page => page.getByRole('region', { name: 'Inspector' }).locator('.cm-content')

walk(13, 'Search the conversations, and open a match at its word', async human => {
  const { page, press, type, to, isAt } = human
  await press('F6')
  await isAt('navigation', 'Conversations')
  await to('textbox', 'Search conversations')
  await type('wombat')
  await page.getByRole('region', { name: 'Search results' }).getByRole('link').nth(1).waitFor()
  await to('link', /wombat sleeps/, { key: 'ArrowDown' })
  await press('Enter')
  await page.waitForURL('**/s/burrow/m/*')
  const word = answers(page).getByText('The wombat sleeps.')
  await until(
    () =>
      word.evaluate(it => {
        const [at, view] = [it.getBoundingClientRect(), it.closest('[role=log]')?.getBoundingClientRect()]
        // Its row may be rendered anew while it is looked at.
        return view !== undefined && at.top >= view.top && at.bottom <= view.bottom
      }),
    Boolean,
    'the word in view',
  )
  await isAt('textbox', 'Find in conversation')
  await press('Escape')
  await isAt(...MESSAGE)
})

walk(14, 'Rename a conversation, and pin it', async human => {
  const { page, app, press, type, to, isAt } = human
  await press('Shift+F6')
  await isAt('navigation', 'Conversations')
  await to('textbox', 'Search conversations')
  await press('Escape')
  await to('link', 'Cherries', { key: 'ArrowDown' })
  await press('F2')
  await isAt('textbox', 'New name')
  await press('Control+a')
  await type('Sweet cherries')
  await press('Enter')
  await isAt('link', 'Sweet cherries')
  await until(
    () => sessions(app),
    list => list.sessions.some(({ title }) => title === 'Sweet cherries'),
    'the name on the server',
  )
  await to('button', 'Actions for Sweet cherries')
  await press('Enter')
  await isAt('menuitem', 'Rename')
  await press('ArrowDown', 'Enter')
  await sidebar(page)
    .getByRole('region', { name: 'Pinned' })
    .getByRole('link', { name: 'Sweet cherries' })
    .waitFor()
  assert.deepEqual((await sessions(app)).pinned, ['cherries'])
  await isAt('link', 'Sweet cherries')
})

walk(15, 'Archive a conversation; delete another and undo it', async human => {
  const { page, app, press, to, isAt } = human
  await to('link', 'Apples', { key: 'ArrowDown' })
  await to('button', 'Actions for Apples')
  await press('Enter')
  await isAt('menuitem', 'Rename')
  await to('menuitem', 'Archive', { key: 'ArrowDown' })
  await press('Enter')
  await sidebar(page).getByText('Archived (1)').waitFor()
  assert.deepEqual((await sessions(app)).archived, ['apples'])
  await isAt('link', 'Burrow')
  await to('button', 'Actions for Burrow')
  await press('Enter')
  await isAt('menuitem', 'Rename')
  await to('menuitem', 'Delete', { key: 'ArrowUp' })
  await press('Enter')
  const burrow = sidebar(page).getByRole('link', { name: 'Burrow' })
  await burrow.waitFor({ state: 'detached' })
  await isAt('link', 'Sweet cherries')
  await press('F8')
  await isAt('button', 'Undo')
  await press('Enter')
  await burrow.waitFor()
  await isAt('link', 'Sweet cherries')
})

walk(16, 'Sort and filter the conversations, and go from one to the next', async human => {
  const { page, press, to, isAt } = human
  await to('button', 'Filter and sort', { key: 'Shift+Tab' })
  await press('Enter')
  await isAt('menuitemcheckbox', 'All conversations')
  await to('menuitemcheckbox', 'By title', { key: 'ArrowUp' })
  await press('Enter')
  await isAt('button', 'Filter and sort')
  await press('Alt+ArrowDown')
  await page.waitForURL('**/s/cherries')
  await press('Alt+ArrowDown')
  await page.waitForURL('**/s/burrow')
  await press('Alt+ArrowUp')
  await page.waitForURL('**/s/cherries')
  await answers(page).getByText('In June.').waitFor()
  await isAt('button', 'Filter and sort')
  await press('Enter')
  await isAt('menuitemcheckbox', 'All conversations')
  await to('menuitemcheckbox', 'Unread', { key: 'ArrowDown' })
  await press('Enter')
  await page.getByText('No conversation matches “Unread”.').waitFor()
  await to('button', 'All conversations')
  await press('Enter')
  await sidebar(page).getByRole('link', { name: 'Burrow' }).waitFor()
  await isAt('navigation', 'Conversations')
})

walk(17, 'Open a file, edit and save it, look at its preview, close it', async human => {
  const { page, app, press, type, to, isAt } = human
  await press('Control+p')
  await isAt('combobox', 'Go to file')
  await type('soul')
  await page.getByRole('option', { name: 'workspace/SOUL.md' }).waitFor()
  await press('Enter')
  await isAt('textbox', /SOUL\.md/)
  await press('Control+Home')
  await type('Always answer in verse. ')
  await press('Control+s')
  await until(
    () => readFile(join(app.home, 'workspace/SOUL.md'), 'utf8'),
    text => text.startsWith('Always answer in verse. '),
    'the file',
  )
  await isAt('textbox', /SOUL\.md/)
  await page.getByText(/^Saved \d/).waitFor()
  await to('button', 'Show preview', { key: 'Shift+Tab' })
  await press('Enter')
  await page
    .getByRole('region', { name: 'Preview of workspace/SOUL.md' })
    .getByText('Always answer in verse.')
    .waitFor()
  await isAt('button', 'Show preview')
  await press('Enter', 'Alt+w')
  await text(page).waitFor({ state: 'detached' })
  await isAt('region', 'Inspector')
})

walk(18, 'Make a new file, and attach a file to a message', async human => {
  const { page, app, press, type, to, isAt } = human
  // The browser takes a moment to keep the system's dialog from opening, so this begins long before the dialog does.
  page.on('filechooser', () => {})
  await to('tab', /Memory|Workspace|Knowledge/)
  await to('tab', 'Knowledge', { key: 'ArrowRight' })
  await to('button', 'New file')
  await press('Enter')
  await isAt('textbox', 'File name')
  await type('plans/autumn')
  await press('Enter')
  await isAt('textbox', /autumn\.md/)
  assert.equal(await readFile(join(app.home, 'knowledge/plans/autumn.md'), 'utf8'), '')
  await press('Shift+F6')
  await to('button', 'Attach files')
  // The dialog that opens is the system's.
  const opened = page.waitForEvent('filechooser')
  await press('Enter')
  await (await opened).setFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from('milk,2') })
  await page.getByRole('list', { name: 'Attachments' }).getByText('list.csv').waitFor()
  await isAt('button', 'Attach files')
  await type('What is on the list?')
  await press('Enter')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  assert.match(JSON.stringify(await app.requests()), /milk,2/)
  await isAt(...MESSAGE)
})

walk(19, 'In a window of 1000 px, open and close the inspector', async ({ page, press, isAt }) => {
  await page.setViewportSize({ width: 1000, height: 800 })
  const sheet = page.getByRole('dialog', { name: 'Inspector' })
  await press('Control+Alt+b')
  await sheet.getByRole('tree').first().waitFor()
  await press('Escape')
  await sheet.waitFor({ state: 'detached' })
  await isAt(...MESSAGE)
  await page.setViewportSize({ width: 1440, height: 900 })
})

walk(20, 'See all shortcuts; switch to Chinese from the palette', async ({ page, press, type, isAt }) => {
  await press('Control+/')
  const sheet = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await sheet.getByText('Focus notification').waitFor()
  await press('Escape')
  await isAt(...MESSAGE)
  await press('Control+k')
  await type('language')
  await page.getByRole('option', { name: /Language/ }).waitFor()
  await press('Enter')
  await isAt('textbox', '消息')
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'zh-CN')
  await press('Control+k')
  await type('语言')
  await page.getByRole('option', { name: /语言/ }).waitFor()
  await press('Enter')
  await isAt(...MESSAGE)
})
