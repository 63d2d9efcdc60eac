// Nothing is forgotten unseen: the conversation, the composer, the meter, the answer and the X-ray say what is left out.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, ask, composer, say, settled, shot, until } from './harness.mjs'

const WINDOW = 12_000
const CONFIG = `find_local_models: false
models:
  - {id: small, api_url: '\${OPENAI_BASE_URL}', api_key: x, model: small, context_window: ${WINDOW}}
`

const session = (title, exchanges) =>
  JSON.stringify({
    title,
    created_at: 1,
    updated_at: 1,
    messages: Array.from({ length: exchanges }, (_, n) => [
      { role: 'user', content: `Question ${n}`, id: `q${n}` },
      { role: 'assistant', content: 'word '.repeat(100), id: `a${n}` },
    ]).flat(),
  })

const send = (app, method, path, body) =>
  ask(app, path, { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })

/** Exchanges that fill about that percentage of the window. */
const STAGES = { 60: 36, 75: 49, 90: 61 }

const prepare = async app => {
  const write = async (id, text) => {
    await writeFile(join(app.home, 'sessions', `${id}.json`), text)
    await send(app, 'PUT', `/api/sessions/${id}/model`, { model: 'other/small' })
  }
  await write('long', session('Long', 150))
  for (const [percent, exchanges] of Object.entries(STAGES))
    await write(`full-${percent}`, session(`About ${percent} %`, exchanges))
}

const test = withMiniclaw({ config: CONFIG, prepare })

const size = (app, id, message = '') => send(app, 'POST', '/api/tokens/request', { session_id: id, message })
const meter = page => page.getByRole('meter', { name: 'Context' })
const note = page => page.getByRole('region', { name: 'Context' })

test('a conversation shows what is not sent, before and after', async ({ app, open }) => {
  const page = await open({ path: '/s/long' })
  await note(page)
    .getByText(/the first \d+ messages won’t be sent/)
    .waitFor()
  const { left_out } = await size(app, 'long')
  await note(page).getByText(`the first ${left_out} messages`).waitFor()
  assert.equal(
    await meter(page).getAttribute('aria-valuetext'),
    `The context is full. ${left_out} messages are not sent.`,
  )
  await shot(page, 'left-out-note')

  const line = page.getByRole('article', { name: 'Context' })
  await until(
    async () => {
      await page.getByRole('log').evaluate(box => box.scrollBy(0, -box.clientHeight / 2))
      return line.count()
    },
    count => count === 1,
    'the line above which nothing is sent',
  )
  await line.getByText(`Not sent from here up: ${left_out} messages`).waitFor()
  await line.getByRole('button', { name: 'Compact conversation' }).waitFor()
  const after = await line.evaluate(element => element.parentElement?.innerText ?? '')
  assert.match(after, new RegExp(`Question ${left_out / 2}\\b`))
  await line.evaluate(element => element.scrollIntoView({ block: 'center' }))
  await shot(page, 'left-out-line')

  const draft = await size(app, 'long', 'And now?')
  await say(page, 'And now?')
  const answer = answers(page).last()
  await answer.getByText('All right.').waitFor()
  await settled(page)
  await answer.getByText(`Without the first ${draft.left_out} messages`).waitFor()
  // The mark says it from now on.
  await note(page).waitFor({ state: 'detached' })
  await page.reload()
  await answers(page).last().getByText(`Without the first ${draft.left_out} messages`).waitFor()
  await shot(page, 'left-out-answer')

  await answer.hover()
  await answer.getByRole('button', { name: 'X-ray of this response' }).click()
  const total = draft.total_tokens.toLocaleString('en')
  await page.getByRole('dialog').getByText(`${total} tokens`).first().waitFor()
})

test('the meter counts what is typed', async ({ app, open }) => {
  const page = await open()
  const value = () => meter(page).getAttribute('aria-valuetext')
  const empty = await until(value, text => /[1-9]/.test(text ?? ''), 'the size of an empty draft')
  await composer(page).fill('A question of some words')
  const typed = await until(value, text => text !== empty, 'the size with the draft')
  const { total_tokens, limit_tokens } = await size(app, null, 'A question of some words')
  const number = n => n.toLocaleString('en')
  assert.equal(typed, `Next request: ${number(total_tokens)} of ${number(limit_tokens)} tokens`)
  await composer(page).fill('')
  await until(value, text => text === empty, 'the size of an empty draft again')
})

for (const percent of Object.keys(STAGES))
  test(`a window that is about ${percent} % full`, async ({ open }) => {
    const page = await open({ path: `/s/full-${percent}` })
    const share = await until(
      async () => 100 * Number(await meter(page).getAttribute('aria-valuenow')),
      now => now > 0,
      'the meter',
    )
    assert.ok(Math.abs(share - percent) < 5, `${share}`)
    await shot(page, `context-${percent}`)
  })

for (const { look, given } of LOOKS)
  test(`what is left out has no accessibility violations: ${look}`, async ({ open }) => {
    const page = await open({ path: '/s/long', ...given })
    await page.getByText(/最早的 \d+ 条|the first \d+ messages/).waitFor()
    await shot(page, `left-out-${look}`)
    assert.deepEqual(await faults(page), [])
  })

const proposal = page => page.getByText(/This conversation fills \d+ % of the context/)

test('a conversation that nearly fills the context is proposed for compaction, and can be left alone', async ({
  open,
}) => {
  const page = await open({ path: '/s/full-75' })
  await until(
    async () => Number(await meter(page).getAttribute('aria-valuenow')),
    now => now > 0,
    'the meter',
  )
  assert.equal(await proposal(page).count(), 0)
  await page.goto(page.url().replace('full-75', 'full-90'))
  await proposal(page).waitFor()
  await shot(page, 'nearly-full')
  assert.deepEqual(await faults(page), [])
  await page.getByRole('button', { name: 'Not now' }).click()
  await until(
    () => proposal(page).count(),
    count => count === 0,
    'the proposal is gone',
  )
})

test('a conversation that is compacted automatically says so, and undo brings the messages back', async ({
  app,
  open,
}) => {
  const page = await open({ path: '/s/full-90' })
  await page.getByRole('button', { name: 'Always compact automatically' }).click()
  await until(
    () => proposal(page).count(),
    count => count === 0,
    'the proposal is gone',
  )
  await say(page, 'And now?')
  await page.getByText('62 messages compacted').first().waitFor()
  await page.getByRole('button', { name: 'Undo', exact: true }).click()
  await page.getByText('62 messages restored').first().waitFor()
  const { auto_compact, nearly_full } = await ask(app, '/api/tokens/session/full-90')
  assert.deepEqual([auto_compact, nearly_full], ['on', true])
})
