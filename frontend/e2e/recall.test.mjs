// Recall: a citation of a past message opens it with the words marked, and a conversation can be excluded.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withMiniclaw } from './fixtures.mjs'
import { answers, composer, openCalls, say, settled, shot, until } from './harness.mjs'

const SAID = '01a22139-7906-7700-b54a-2bc3e175269f'
const messages = [
  {
    role: 'user',
    content: 'My landlord is called Zelnik.',
    id: SAID,
    work_id: 'w1',
    created_at: 1_700_000_000,
  },
  ...Array.from({ length: 20 }, (_, i) => ({
    ...{ role: i % 2 ? 'user' : 'assistant', id: `m-${i}`, work_id: `w${i}`, created_at: 1_700_000_100 },
    content: `Remark ${i + 1}.\n\n${'More of it. '.repeat(40)}`,
  })),
]
const search = { query: 'name of the landlord', in: 'conversations' }
const test = withMiniclaw({
  replies: [
    {
      match: 'Who is my landlord',
      steps: [{ tool_call: { id: 'r', name: 'search_memory', arguments: search } }, { finish: 'tool_calls' }],
    },
    {
      match: 'Who is my landlord',
      repeat: true,
      steps: [{ text: `Your landlord is Zelnik [old:${SAID}].` }, { finish: 'stop' }],
    },
  ],
  prepare: app =>
    writeFile(
      join(app.home, 'sessions/old.json'),
      JSON.stringify({ title: 'The flat', created_at: 1, updated_at: 1_700_000_200, messages }),
    ),
})

/** The marked words that are in view. */
const marked = page =>
  page.evaluate(() =>
    [...(CSS.highlights.get('found') ?? [])]
      .filter(range => {
        const { top, bottom, height } = range.getBoundingClientRect()
        return height > 0 && top >= 0 && bottom <= innerHeight
      })
      .map(range => range.toString().toLowerCase()),
  )

test('a citation opens the message with the words marked', async ({ open }) => {
  const page = await open()
  await say(page, 'Who is my landlord?')
  const link = answers(page).getByRole('link', { name: `[old:${SAID}]` })
  await link.waitFor()
  await settled(page)
  await openCalls(answers(page).last())
  await answers(page).last().locator('details.chain details > summary').first().click()
  await answers(page).getByRole('link', { name: 'The flat' }).first().waitFor()
  const found = answers(page).getByRole('region', { name: 'Passages' })
  await found.waitFor()
  assert.equal(await found.getByRole('link', { name: 'Open in retrieval playground' }).count(), 0)
  const below = answers(page).getByRole('region', { name: 'From past conversations' })
  assert.equal(await below.getByRole('link').innerText(), 'The flat')
  await shot(page, 'recall-answer')
  await link.last().click()
  await page.getByText('My landlord is called Zelnik.').waitFor()
  assert.match(page.url(), new RegExp(`/s/old/m/${SAID}$`))
  await until(
    () => marked(page),
    words => words.includes('landlord'),
    'the marked word',
  )
  await shot(page, 'recall-message')
})

test('a conversation is excluded from recall in its menu, and included again', async ({ app, open }) => {
  const page = await open()
  const file = async () => JSON.parse(await readFile(join(app.home, 'sessions/old.json'), 'utf8'))
  const menu = async item => {
    await page.getByRole('button', { name: 'Actions for The flat' }).click()
    await shot(page, 'recall-menu')
    await page.getByRole('menuitem', { name: item }).click()
  }
  await composer(page).waitFor()
  await menu('Don’t use for recall')
  await page.getByRole('region', { name: 'no longer found when past' }).waitFor()
  assert.equal((await file()).chosen.not_for_recall, true)
  await menu('Use for recall again')
  await page.getByRole('region', { name: 'can be found again' }).waitFor()
  assert.equal((await file()).chosen?.not_for_recall, undefined)
})
