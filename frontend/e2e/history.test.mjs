// A long conversation is loaded from its end, and the rest of it when it is wanted.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { composer, MOBILE, say, settled, shot, until } from './harness.mjs'

const MESSAGES = 1000
const textOf = n => (n === 10 ? 'The wombat sleeps.' : `Text ${n}. ${'A few more words. '.repeat(n % 7)}`)
const talk = JSON.stringify({
  title: 'Long',
  created_at: 1,
  updated_at: Date.now() / 1000,
  messages: Array.from({ length: MESSAGES }, (_, n) => ({
    ...{ role: n % 2 ? 'assistant' : 'user', content: textOf(n) },
    ...{ id: `i${n}`, work_id: `w${n - (n % 2)}`, created_at: 1_700_000_000 + n * 60 },
  })),
})
const test = withMiniclaw({
  replies: [{ match: 'hello', repeat: true, steps: [{ text: 'Hello to you.' }, { finish: 'stop' }] }],
  prepare: app => writeFile(join(app.home, 'sessions/long.json'), talk),
})

const log = page => page.getByRole('log')
const message = (page, n) =>
  log(page)
    .getByRole('article')
    .filter({ hasText: textOf(n).slice(0, 9) })
/** The queries of the histories that a page asks for. */
function asked(page) {
  const queries = []
  page.on('request', request => {
    const { pathname, searchParams } = new URL(request.url())
    if (pathname.endsWith('/long/history')) queries.push(Object.fromEntries(searchParams))
  })
  return queries
}
const openLong = (open, path = '/s/long', given = {}) => {
  let queries = []
  const prepare = page => {
    queries = asked(page)
  }
  return open({ path, prepare, ...given }).then(page => ({ page, queries: () => queries }))
}

test('the newest messages are loaded first, and the others at the top, where nothing moves', async ({
  open,
}) => {
  const { page, queries } = await openLong(open)
  await message(page, MESSAGES - 1).waitFor()
  assert.deepEqual(queries(), [{ last: '200' }])
  await log(page).evaluate(it => {
    it.scrollTop = 0
  })
  const first = message(page, 800)
  await first.waitFor()
  await until(
    () => queries(),
    all => all.length === 2,
    'the second page',
  )
  assert.deepEqual(queries()[1], { before: 'i800', last: '200' })
  await until(() => first.evaluate(it => it.previousElementSibling !== null), Boolean, 'the rows above')
  // What was at the top still is in view.
  assert.ok(await first.isVisible())
  const place = await first.evaluate(
    it => it.getBoundingClientRect().top - it.closest('[role=log]').getBoundingClientRect().top,
  )
  assert.ok(place > -10 && place < 120, `${place}`)
  assert.equal(queries().length, 2, 'no more than is wanted')
  assert.deepEqual(await faults(page), [])
})

test('Home leads to the first message of all', async ({ open }) => {
  const { page } = await openLong(open)
  await message(page, MESSAGES - 1).waitFor()
  await log(page).focus()
  await page.keyboard.press('Home')
  await until(() => message(page, 0).isVisible(), Boolean, 'the first message')
  assert.equal(
    await log(page)
      .getByRole('button', { name: /earlier messages/ })
      .count(),
    0,
  )
  assert.ok((await log(page).evaluate(it => it.scrollTop)) < 50)
})

test('a search in the conversation finds what was not loaded', async ({ open }) => {
  const { page } = await openLong(open)
  await message(page, MESSAGES - 1).waitFor()
  await page.keyboard.press('Control+f')
  await page.getByRole('textbox', { name: 'Find in conversation' }).fill('wombat')
  await until(() => message(page, 10).isVisible(), Boolean, 'the message')
  await page.getByText('1 of 1', { exact: true }).waitFor()
})

test('a link to an old message leads there', async ({ open }) => {
  const { page } = await openLong(open, '/s/long/m/i10')
  await message(page, 10).waitFor()
  await until(() => message(page, 10).isVisible(), Boolean, 'the message')
  assert.equal(await page.getByText('no longer in the conversation').count(), 0)
})

test('what was loaded stays after the connection was lost', async ({ app, open }) => {
  const { page, queries } = await openLong(open)
  await message(page, MESSAGES - 1).waitFor()
  await log(page).evaluate(it => {
    it.scrollTop = 0
  })
  await until(
    () => queries().length,
    n => n === 2,
    'the second page',
  )
  await message(page, 799).waitFor()
  await app.restart()
  await until(
    () => queries().at(-1).from,
    from => from === 'i600',
    'the history from the first message that is shown',
  )
  await message(page, 799).waitFor()
  await say(page, 'hello')
  await settled(page)
  await log(page).getByText('Hello to you.').waitFor()
  assert.equal(await composer(page).inputValue(), '')
})

for (const { look, small, given } of LOOKS) {
  test(`the row of earlier messages: ${look}`, async ({ open }) => {
    const { page } = await openLong(open, '/s/long', {
      ...(small ? MOBILE : {}),
      ...given,
      // The next page does not come, so that its row stays.
      prepare: page => page.route(/history\?.*before=/, () => {}),
    })
    await message(page, MESSAGES - 1).waitFor()
    await log(page).evaluate(it => {
      it.scrollTop = 0
    })
    const words = given.lang === 'zh' ? '正在加载更早的消息…' : 'Loading earlier messages…'
    await log(page).getByRole('button', { name: words }).waitFor()
    assert.deepEqual(await faults(page), [])
    await shot(page, `history-${look}`)
  })
}
