// Conversations: found, pinned and archived, exported and imported.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { withMiniclaw } from './fixtures.mjs'
import { answers, ask, say, settled, shot, until } from './harness.mjs'

const long = Array.from({ length: 30 }, (_, n) => [
  {
    role: 'user',
    content: n === 3 ? 'Where did the platypus go?' : `Question ${n}`,
    id: `q${n}`,
    work_id: `w${n}`,
  },
  { role: 'assistant', content: `Answer ${n}. ${'It is long. '.repeat(30)}`, id: `a${n}`, work_id: `w${n}` },
]).flat()
const file = (title, messages, updated_at) => JSON.stringify({ title, created_at: 1, updated_at, messages })

const test = withMiniclaw({
  prepare: async app => {
    const now = Date.now() / 1000
    const hello = [{ role: 'user', content: '<b>hi</b>' }]
    await writeFile(join(app.home, 'sessions/zoo.json'), file('At the zoo', long, now - 50))
    await writeFile(join(app.home, 'sessions/old.json'), file('An old platypus', hello, now - 864_000))
  },
})

const sidebar = page => page.getByRole('navigation', { name: 'Conversations' })
const search = page => page.getByRole('textbox', { name: 'Search conversations' })
const menu = async (page, link, item, title = link) => {
  await sidebar(page).getByRole('link', { name: link }).hover()
  await sidebar(page)
    .getByRole('button', { name: `Actions for ${title}` })
    .click()
  await page.getByRole('menuitem', { name: item }).click()
}

test('search finds titles and messages, and a hit links to its message', async ({ open }) => {
  const page = await open()
  await search(page).fill('PLATYPUS')
  const results = page.getByRole('region', { name: 'Search results' })
  await results.getByRole('link', { name: 'An old platypus' }).waitFor()
  await shot(page, 'session-search')
  await results.getByRole('link', { name: /Where did the platypus go/ }).click()
  await page.waitForURL(/\/s\/zoo\/m\/q3$/)
  const message = page.getByRole('article', { name: 'You' }).getByText('Where did the platypus go?')
  await until(
    () => message.isVisible().then(seen => seen && message.evaluate(m => m.getBoundingClientRect().top)),
    top => top > 0 && top < 400,
    'the message at the top',
  )
  assert.equal(await page.locator('[data-target]').count(), 1)
  await shot(page, 'session-jump')
  await page.reload()
  await message.waitFor()
  await search(page).fill('no such word')
  await sidebar(page).getByText('No results.').waitFor()
  await search(page).press('Escape')
  await sidebar(page).getByRole('link', { name: 'At the zoo' }).waitFor()
})

test('a URL of a deleted message says so', async ({ open }) => {
  const page = await open({ path: '/s/zoo/m/q99' })
  await page.getByText('This message is no longer in the conversation.').first().waitFor()
})

test('a pinned conversation is first in every tab', async ({ open }) => {
  const page = await open()
  const other = await open()
  await menu(page, 'An old platypus', 'Pin')
  for (const tab of [page, other]) {
    const pinned = sidebar(tab).getByRole('region', { name: 'Pinned' })
    await pinned.getByRole('link', { name: 'An old platypus' }).waitFor()
    assert.equal(await sidebar(tab).getByRole('link', { name: 'An old platypus' }).count(), 1)
  }
  await menu(page, 'An old platypus', 'Unpin')
  await sidebar(page).getByRole('region', { name: 'Pinned' }).waitFor({ state: 'detached' })
})

test('an archived conversation stays apart until its next message', async ({ open }) => {
  const page = await open()
  const other = await open()
  await menu(page, 'An old platypus', 'Archive')
  for (const tab of [page, other]) {
    const archived = sidebar(tab).getByRole('region', { name: 'Archived' })
    await archived.getByText('Archived (1)').waitFor()
    assert.equal(await sidebar(tab).getByRole('link', { name: 'An old platypus' }).count(), 0)
  }
  await search(page).fill('platypus')
  await sidebar(page)
    .getByRole('region', { name: 'Search results' })
    .getByRole('link', { name: 'An old platypus' })
    .waitFor()
  await search(page).press('Escape')
  const archived = sidebar(page).getByRole('region', { name: 'Archived' })
  await archived.locator('summary').press('Enter')
  await archived.getByRole('link', { name: 'An old platypus' }).waitFor()
  await shot(page, 'session-archived')
  await menu(page, 'An old platypus', 'Restore')
  await archived.waitFor({ state: 'detached' })
  await page
    .getByRole('region', { name: 'Restored “An old platypus”' })
    .getByRole('button', { name: 'Undo' })
    .click()
  await archived.getByRole('link', { name: 'An old platypus' }).click()
  await say(page, 'are you there?')
  await answers(page).last().getByText('All right.').waitFor()
  await archived.waitFor({ state: 'detached' })
  await sidebar(page)
    .getByRole('region', { name: 'Today' })
    .getByRole('link', { name: 'An old platypus' })
    .waitFor()
  await settled(page)
})

test('several conversations are selected, archived and deleted, with one undo', async ({ app, open }) => {
  const page = await open()
  for (const name of ['Ant', 'Bee', 'Cat']) {
    await ask(app, '/api/sessions', {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ title: name }),
    })
  }
  const link = name => sidebar(page).getByRole('link', { name })
  const box = name => boxes.getByRole('checkbox', { name })
  const boxes = sidebar(page).getByRole('group', { name: 'Select conversations' })
  await link('Cat').click({ modifiers: ['ControlOrMeta'] })
  assert.equal(await box('Cat').isChecked(), true)
  assert.equal(new URL(page.url()).pathname, '/', 'it was chosen, not opened')
  await box('Ant').click({ modifiers: ['Shift'] })
  await boxes.getByText('3 selected').waitFor()
  await shot(page, 'session-choose')
  await box('Bee').press('Escape')
  await link('Bee').waitFor()

  await sidebar(page).getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Select multiple…' }).click()
  await boxes.getByText('0 selected').waitFor()
  await expect(boxes.getByRole('checkbox').first()).toBeFocused()
  await box('Bee').focus()
  await page.keyboard.press('Space')
  await boxes.getByText('Ant', { exact: true }).click()
  await boxes.getByText('2 selected').waitFor()
  await boxes.getByRole('button', { name: 'Delete' }).click()
  await link('Bee').waitFor({ state: 'detached' })
  await link('Ant').waitFor({ state: 'detached' })
  const toast = page.getByRole('region', { name: '2 conversations deleted' })
  await toast.getByRole('button', { name: 'Undo' }).click()
  await link('Bee').waitFor()
  await link('Ant').waitFor()

  await link('Ant').click({ modifiers: ['ControlOrMeta'] })
  await box('Bee').check()
  await boxes.getByRole('button', { name: 'Archive' }).click()
  await sidebar(page).getByText('Archived (2)').waitFor()
  await link('Cat').waitFor()
})

test('a conversation is exported to a file and imported unchanged', async ({ app, open }) => {
  const page = await open()
  const got = async item => {
    const [download] = await Promise.all([page.waitForEvent('download'), menu(page, 'At the zoo', item)])
    return { name: download.suggestedFilename(), path: await download.path() }
  }
  const markdown = await got('Export as Markdown')
  assert.equal(markdown.name, 'zoo.md')
  assert.match(
    await readFile(markdown.path, 'utf8'),
    /^# At the zoo\n[\s\S]*## You\n\nWhere did the platypus go\?/,
  )
  const json = await got('Export as JSON')
  await sidebar(page).getByRole('button', { name: 'More actions' }).click()
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.getByRole('menuitem', { name: 'Import conversation…' }).click(),
  ])
  await chooser.setFiles({
    name: 'zoo.json',
    mimeType: 'application/json',
    buffer: await readFile(json.path),
  })
  await page.waitForURL(/\/s\/(?!zoo)/)
  const id = new URL(page.url()).pathname.split('/')[2]
  const { messages } = await ask(app, `/api/sessions/${id}/history`)
  assert.deepEqual(messages, long)
  await page
    .locator('input[type=file]')
    .first()
    .setInputFiles({
      ...{ name: 'photo.json', mimeType: 'application/json' },
      buffer: Buffer.from('no JSON'),
    })
  await page.getByText('Couldn’t import photo.json').first().waitFor()
})

test('compacted messages can be read, and a deleted conversation restored', async ({ app, open }) => {
  const page = await open()
  for (const [n, text] of ['first', 'second', 'third'].entries()) {
    await say(page, text)
    await answers(page).nth(n).getByText('All right.').waitFor()
    await settled(page)
  }
  const id = new URL(page.url()).pathname.split('/')[2]
  await ask(app, `/api/sessions/${id}/compress`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
    body: '{}',
  })
  await sidebar(page).getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Trash and recovery' }).click()
  const dialog = page.getByRole('dialog', { name: 'Trash and recovery' })
  await dialog.getByText('4 messages, compacted').waitFor()
  await dialog.getByRole('button', { name: 'View' }).click()
  await dialog.getByRole('listitem').filter({ hasText: 'first' }).waitFor()
  assert.equal(await dialog.getByRole('listitem').count(), 4)
  await shot(page, 'compacted-read')
  await page.keyboard.press('Escape')
  await answers(page).last().waitFor()
  await menu(page, 'An old platypus', 'Delete')
  await sidebar(page).getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Trash and recovery' }).click()
  const deleted = dialog.getByRole('listitem').filter({ hasText: 'An old platypus' })
  await deleted.waitFor()
  await shot(page, 'recovery')
  await deleted.getByRole('button', { name: 'Restore' }).click()
  await dialog.getByText('No deleted conversations.').waitFor()
  await page.keyboard.press('Escape')
  await sidebar(page).getByRole('link', { name: 'An old platypus' }).waitFor()
})

test('the list is sorted and filtered, and its groups have dates', async ({ app, open }) => {
  const messages = [{ role: 'user', content: 'hi' }]
  await writeFile(
    join(app.home, 'sessions/ago.json'),
    file('Long ago', messages, Date.now() / 1000 - 4_000_000),
  )
  const page = await open()
  const arrange = async item => {
    await sidebar(page).getByRole('button', { name: 'Filter and sort' }).click()
    await page.getByRole('menuitemcheckbox', { name: item }).click()
  }
  const titles = () => sidebar(page).getByRole('list').getByRole('link').allTextContents()
  const old = sidebar(page).getByRole('link', { name: 'Long ago' })
  await old.waitFor()
  const headings = await sidebar(page).getByRole('heading', { level: 2 }).allTextContents()
  assert.equal(headings[0], 'Today')
  assert.ok(
    headings.some(title => /^[A-Z]\w+ \d{4}$/.test(title)),
    `a month and a year: ${headings}`,
  )
  assert.match(await old.locator('span[title]').first().getAttribute('title'), /Long ago\n.*\d/)
  await arrange('By title')
  await until(
    titles,
    list => list.join() === list.toSorted((a, b) => a.localeCompare(b)).join(),
    'the order by title',
  )
  await page.reload()
  await sidebar(page).getByRole('heading', { name: 'Conversations', level: 2 }).waitFor()
  await shot(page, 'sessions-by-title')
  await arrange('Approval needed')
  await sidebar(page).getByText('No conversation matches “Approval needed”.').waitFor()
  await sidebar(page).getByRole('button', { name: 'All conversations', exact: true }).click()
  await old.waitFor()
  await arrange('Latest activity first')
})

test('a renamed conversation keeps its place', async ({ app, open }) => {
  const page = await open()
  const titles = () => sidebar(page).getByRole('list').getByRole('link').allTextContents()
  await sidebar(page).getByRole('link', { name: 'An old platypus' }).waitFor()
  const place = (await titles()).findIndex(title => title.includes('An old platypus'))
  assert.ok(place > 0, 'it is not the first')
  await menu(page, 'An old platypus', 'Rename')
  await page.getByRole('textbox', { name: 'New name' }).fill('A very old platypus')
  await page.keyboard.press('Enter')
  const renamed = sidebar(page).getByRole('link', { name: 'A very old platypus' })
  await until(
    () => renamed.evaluate(link => link === document.activeElement),
    yes => yes,
    'the focus on its row',
  )
  await until(
    async () => JSON.parse(await readFile(join(app.home, 'sessions/old.json'), 'utf8')).title,
    title => title === 'A very old platypus',
    'the file',
  )
  await page.reload()
  await sidebar(page).getByRole('link', { name: 'A very old platypus' }).waitFor()
  assert.match((await titles())[place], /A very old platypus/)
  await menu(page, 'A very old platypus', 'Rename')
  await page.getByRole('textbox', { name: 'New name' }).fill('An old platypus')
  await page.keyboard.press('Enter')
  await sidebar(page).getByRole('link', { name: 'An old platypus' }).waitFor()
})

test('Alt and an arrow follow the list as it is sorted', async ({ open }) => {
  const page = await open()
  await sidebar(page).getByRole('button', { name: 'Filter and sort' }).click()
  await page.getByRole('menuitemcheckbox', { name: 'By title' }).click()
  const links = sidebar(page).getByRole('list').getByRole('link')
  const hrefs = await links.evaluateAll(all => all.map(link => link.getAttribute('href')))
  for (const href of hrefs.slice(0, 3)) {
    await page.keyboard.press('Alt+ArrowDown')
    await page.waitForURL(url => url.pathname === href)
  }
  await page.keyboard.press('Alt+ArrowUp')
  await page.waitForURL(url => url.pathname === hrefs[1])
})

test('a search hit opens at the word, and Enter leads to the next', async ({ app, open }) => {
  const filler = 'Nothing to see here. '.repeat(40)
  const deep = `${Array.from({ length: 40 }, (_, n) => `Paragraph ${n}. ${filler}`).join('\n\n')}\n\nThe **wombat** sleeps.\n\n${filler}`
  const messages = [
    { role: 'user', content: 'Tell me of the wombat', id: 'w-q1', work_id: 'w-w1' },
    { role: 'assistant', content: deep, id: 'w-a1', work_id: 'w-w1' },
    { role: 'user', content: 'And the wombat now?', id: 'w-q2', work_id: 'w-w2' },
    { role: 'assistant', content: 'It dreams.', id: 'w-a2', work_id: 'w-w2' },
  ]
  await writeFile(join(app.home, 'sessions/burrow.json'), file('Burrow', messages, Date.now() / 1000 - 60))
  const page = await open()
  await search(page).fill('wombat')
  const results = page.getByRole('region', { name: 'Search results' })
  await results.getByRole('link', { name: /The \*\*wombat\*\* sleeps|wombat sleeps/ }).click()
  await page.waitForURL(/\/s\/burrow\/m\/w-a1$/)
  const bar = page.getByRole('search', { name: 'Find in conversation' })
  await bar.getByText('2 of 3').waitFor()
  const word = page.getByRole('log').locator('strong', { hasText: 'wombat' })
  await until(
    () =>
      word.evaluate(it => {
        const [at, view] = [it.getBoundingClientRect(), it.closest('[role=log]').getBoundingClientRect()]
        return at.top >= view.top && at.bottom <= view.bottom
      }),
    seen => seen,
    'the word in view',
  )
  await shot(page, 'session-word')
  await bar.getByRole('textbox').press('Enter')
  await bar.getByText('3 of 3').waitFor()
})

test('a branch is named by its point and leads back to it', async ({ open }) => {
  const page = await open({ path: '/s/zoo' })
  const answer = page.getByRole('article', { name: 'miniclaw' }).filter({ hasText: 'Answer 29' })
  await answer.getByRole('button', { name: 'Branch from here' }).click()
  await page.waitForURL(url => !url.pathname.includes('zoo'))
  await sidebar(page).getByRole('link', { name: '↳ Question 29' }).waitFor()
  const back = page.getByRole('link', { name: /Branched from “At the zoo” at “Answer 29\. It is long/ })
  // The key counts once the messages of the branch are there.
  await expect(async () => {
    await page.keyboard.press('Home')
    await expect(back).toBeInViewport({ timeout: 500 })
  }).toPass()
  await back.click()
  await page.waitForURL(/\/s\/zoo\/m\/a29$/)
})

test('a deleted conversation that comes back is as unread as before', async ({ app, open }) => {
  const grow = count => {
    const messages = Array.from({ length: count }, () => ({ role: 'user', content: 'hi' }))
    return writeFile(join(app.home, 'sessions/fern.json'), file('Fern', messages, Date.now() / 1000 - 90))
  }
  await grow(1)
  const page = await open({ path: '/s/zoo' })
  const fern = sidebar(page).getByRole('link', { name: /Fern/ })
  await fern.waitFor()
  await grow(3)
  await page.reload()
  await fern.getByText('Unread').waitFor()
  await menu(page, /^Fern/, 'Delete', 'Fern')
  await fern.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Undo' }).click()
  await fern.getByText('Unread').waitFor()
})
