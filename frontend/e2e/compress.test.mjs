// Compression as a proposed edit: reviewed, edited, accepted or not, and undone.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, ask, say, settled, shot, until } from './harness.mjs'

const SUMMARY = 'They set up the server in src/main.rs on port 8002.'
const summarises = steps => ({ match: 'Summarise the conversation above', steps })
const REPLIES = [
  summarises([{ gate: 'never' }, { text: SUMMARY }, { finish: 'stop' }]),
  { ...summarises([{ text: SUMMARY }, { finish: 'stop' }]), repeat: true },
]
const SAID = [
  'Please look at src/main.rs and https://example.com/guide',
  'It listens on port 8002; the ticket is ABC-1234.',
  'Which database should we use for the sessions?',
  'No database: readable files. See `docs/为什么.md`.',
  'And then?',
  'Then we test.',
  'Fine.',
  'All right.',
]
const TEXT = JSON.stringify({
  title: 'The server',
  created_at: 1,
  updated_at: Date.now() / 1000,
  messages: SAID.map((content, n) => ({
    role: n % 2 ? 'assistant' : 'user',
    content,
    id: `m${n}`,
    work_id: `w${n - (n % 2)}`,
  })),
})

const test = withMiniclaw({ replies: REPLIES })

const put = (app, name) => writeFile(join(app.home, `sessions/${name}.json`), TEXT)
const read = (app, name) => readFile(join(app.home, `sessions/${name}.json`), 'utf8')
const wrench = page => page.getByRole('button', { name: 'Compact conversation' })
const dialog = page => page.getByRole('dialog', { name: 'Compact conversation' })
const summary = page => dialog(page).getByRole('textbox', { name: 'Summary' })
const press = (page, name) => dialog(page).getByRole('button', { name }).click()
const history = (app, name) => ask(app, `/api/sessions/${name}/history`)

const still = page =>
  page.evaluate(() =>
    Promise.all(
      document
        .getAnimations()
        .filter(a => a.effect.getTiming().iterations === 1)
        .map(a => a.finished.catch(() => {})),
    ),
  )

test('a summary is previewed, cancelled, edited, accepted and undone', async ({ app, open }) => {
  await put(app, 'one')
  const page = await open({ path: '/s/one' })
  await answers(page).first().waitFor()
  await wrench(page).click()
  const originals = dialog(page).getByRole('region', { name: 'Original messages' })
  await originals.getByText(SAID[0]).waitFor()
  assert.equal(await originals.getByRole('listitem').count(), 4)
  await dialog(page)
    .getByText(/first 4 messages .* The last 4 messages stay/)
    .waitFor()

  await press(page, 'Generate summary')
  await dialog(page).getByRole('status').getByText('Generating a summary').waitFor()
  await press(page, 'Cancel')
  await dialog(page).getByRole('button', { name: 'Generate summary' }).waitFor()
  assert.equal(await read(app, 'one'), TEXT, 'nothing has changed')

  await press(page, 'Generate summary')
  await summary(page).waitFor()
  assert.equal(await summary(page).inputValue(), SUMMARY)
  const lost = dialog(page).getByRole('region', { name: 'Missing from the summary' })
  await lost.getByRole('button', { name: 'https://example.com/guide' }).waitFor()
  await lost.getByRole('button', { name: 'ABC-1234' }).waitFor()
  await lost.getByRole('button', { name: 'Which database should we use for the sessions?' }).waitFor()
  assert.equal(await lost.getByRole('button', { name: '8002' }).count(), 0)
  assert.equal(await lost.getByRole('button', { name: 'src/main.rs' }).count(), 0)
  await dialog(page)
    .getByText(/→ [\d.]+k? tokens/)
    .waitFor()
  await lost.getByRole('button', { name: 'ABC-1234' }).click()
  await lost.getByRole('button', { name: 'ABC-1234' }).waitFor({ state: 'detached' })
  await dialog(page)
    .getByText(/→ about [\d.]+k? tokens/)
    .waitFor()
  assert.equal(await read(app, 'one'), TEXT, 'nothing has changed yet')
  await press(page, 'Replace with summary')
  await dialog(page).waitFor({ state: 'detached' })
  const compressed = await history(app, 'one')
  assert.equal(compressed.compressed_context, `${SUMMARY}\n\nABC-1234`)
  assert.deepEqual(
    compressed.messages.map(m => m.content),
    SAID.slice(4),
  )
  await page.getByText(SAID[0]).waitFor({ state: 'detached' })

  await page
    .getByRole('region', { name: '4 messages compacted' })
    .getByRole('button', { name: 'Undo' })
    .click()
  await page.getByRole('article', { name: 'You' }).getByText(SAID[0]).waitFor()
  const back = await history(app, 'one')
  assert.deepEqual(back.messages, JSON.parse(TEXT).messages)
  assert.equal(back.compressed_context, undefined)
})

test('Esc does not discard an edited summary without a confirmation', async ({ app, open }) => {
  await put(app, 'esc')
  const page = await open({ path: '/s/esc' })
  await answers(page).first().waitFor()
  const question = dialog(page).getByRole('alert').getByText('Discard your edited summary?')
  await wrench(page).click()
  await press(page, 'Generate summary')
  await summary(page).waitFor()
  await page.keyboard.press('Escape')
  await dialog(page).waitFor({ state: 'detached' })

  await wrench(page).click()
  await press(page, 'Write it myself')
  await summary(page).fill('In my own words.')
  await page.keyboard.press('Escape')
  await question.waitFor()
  await shot(page, 'compress-leaving')
  assert.deepEqual(await faults(page), [])
  await press(page, 'Keep editing')
  await question.waitFor({ state: 'detached' })
  assert.equal(await summary(page).inputValue(), 'In my own words.')
  await press(page, 'Cancel')
  await question.waitFor()
  await page.keyboard.press('Escape')
  await question.waitFor({ state: 'detached' })
  await press(page, 'Close')
  await press(page, 'Discard')
  await dialog(page).waitFor({ state: 'detached' })
  assert.equal(await read(app, 'esc'), TEXT, 'nothing has changed')
})

test('a summary is refused if the conversation has gone on', async ({ app, open }) => {
  await put(app, 'two')
  const page = await open({ path: '/s/two' })
  await answers(page).first().waitFor()
  await wrench(page).click()
  await press(page, 'Write it myself')
  await summary(page).fill('In my own words.')
  const other = await open({ path: '/s/two' })
  await say(other, 'one more thing')
  await until(
    async () => (await history(app, 'two')).messages.length,
    count => count === 10,
    'one more answer',
  )
  await settled(other)
  await other.close()
  await press(page, 'Replace with summary')
  await dialog(page).getByRole('alert').getByText('The conversation changed.').waitFor()
  assert.equal((await history(app, 'two')).messages.length, 10)
  await press(page, 'Refresh')
  await dialog(page)
    .getByText(/first 5 messages .* The last 5 messages stay/)
    .waitFor()
})

test('compacted messages are restored in order, also after a restart of the server', async ({
  app,
  open,
}) => {
  await put(app, 'three')
  const page = await open({ path: '/s/three' })
  await answers(page).first().waitFor()
  const compress = async text => {
    await wrench(page).click()
    await press(page, 'Write it myself')
    await summary(page).fill(text)
    await press(page, 'Replace with summary')
    await dialog(page).waitFor({ state: 'detached' })
  }
  await compress('The first part.')
  await compress('The second part.')
  await app.restart()
  await page.reload()
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Trash and recovery' }).click()
  const recovery = page.getByRole('dialog', { name: 'Trash and recovery' })
  const part = text => recovery.getByRole('listitem').filter({ hasText: text })
  await part('The second part.').getByRole('button', { name: 'Restore' }).waitFor()
  await part('The first part.')
    .getByText(/restore those first/)
    .waitFor()
  await still(page)
  await shot(page, 'compacted-parts')
  assert.deepEqual(await faults(page), [])
  await part('The second part.').getByRole('button', { name: 'Restore' }).click()
  await part('The second part.').getByText('Restored to the conversation').waitFor()
  await part('The first part.').getByRole('button', { name: 'Restore' }).click()
  await part('The first part.').getByText('Restored to the conversation').waitFor()
  const { messages } = await until(
    () => history(app, 'three'),
    h => h.messages.length === 8,
    'all messages',
  )
  assert.deepEqual(messages, JSON.parse(TEXT).messages)
})

for (const { look, small, given } of LOOKS) {
  test(`the dialog, ${look}`, async ({ app, open }) => {
    await put(app, 'four')
    const page = await open({
      path: '/s/four',
      ...given,
    })
    if (small) await page.locator('nav').last().getByRole('button').nth(0).click()
    await page.getByRole('button', { name: /^(Compact conversation|压缩对话)$/ }).click()
    const opened = page.getByRole('dialog')
    await opened.getByRole('listitem').first().waitFor()
    await still(page)
    await shot(page, `compress-plan-${look}`)
    assert.deepEqual(await faults(page), [])
    await opened.getByRole('button', { name: /^(Generate summary|生成摘要)$/ }).click()
    await opened.getByRole('textbox').waitFor()
    await still(page)
    await shot(page, `compress-review-${look}`)
    assert.deepEqual(await faults(page), [])
  })
}
