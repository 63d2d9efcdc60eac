// The first half of the walk by keyboard: from the first run to a standing rule. docs/keyboard-walk.md is its written form.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { answers, ask, settled, until } from './harness.mjs'
import { walkThrough } from './walk.mjs'

const call = (id, command) => [
  { tool_call: { id, name: 'terminal', arguments: { command } } },
  { finish: 'tool_calls' },
]
const replies = [
  { match: 'start the build', steps: [{ text: 'Building. ' }, { gate: 'build' }, { finish: 'stop' }] },
  { match: 'count once', steps: call('t1', 'echo one') },
  { match: 'count once', steps: [{ text: 'Counted.' }, { finish: 'stop' }] },
  { match: 'something dangerous', steps: call('t2', 'echo boom') },
  { match: 'something dangerous', steps: [{ text: 'Then not.' }, { finish: 'stop' }] },
  { match: 'the same always', steps: call('t3', 'echo always') },
  { match: 'the same always', steps: [{ text: 'Always.' }, { finish: 'stop' }] },
  {
    match: 'Summarise the conversation above',
    steps: [{ text: 'They counted.' }, { finish: 'stop' }],
    repeat: true,
  },
]

const EXCHANGES = 238
const LONG = JSON.stringify({
  title: 'A long talk',
  created_at: 1,
  updated_at: 2,
  messages: Array.from({ length: EXCHANGES }, (_, n) => [
    {
      role: 'user',
      content: n % 100 ? `Question ${n}` : `Question ${n} about herons`,
      id: `q${n}`,
      work_id: `w${n}`,
    },
    { role: 'assistant', content: `Answer ${n}. ${'word '.repeat(100)}`, id: `a${n}`, work_id: `w${n}` },
  ]).flat(),
})

/** A second provider, whose models answer as the first one's. */
async function startProvider(first) {
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      response.setHeader('Content-Type', 'application/json')
      return response.end(JSON.stringify({ data: ['alpha', 'beta', 'gamma'].map(id => ({ id })) }))
    }
    const answer = await fetch(first + request.url.replace('/v1', ''), {
      method: 'POST',
      body: await text(request),
    })
    response.writeHead(answer.status, { 'Content-Type': answer.headers.get('Content-Type') })
    Readable.fromWeb(answer.body).pipe(response)
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  return `http://127.0.0.1:${server.address().port}/v1`
}

let second = ''
const walk = walkThrough({
  replies,
  config: 'find_local_models: false\napprovals: {tools: {terminal: ask}}\n',
  // Empty variables count as unset.
  env: { OPENAI_API_KEY: '', OPENAI_BASE_URL: '', OPENAI_MODEL: '', MINICLAW_LLM: '/none' },
  prepare: async app => {
    await writeFile(join(app.home, 'sessions/long.json'), LONG)
    second = await startProvider(app.provider)
  },
})

const idOf = page => new URL(page.url()).pathname.split('/')[2]
const history = (app, id) => ask(app, `/api/sessions/${id}/history`)
const asked = page => page.getByRole('article', { name: 'You', exact: true })
const MESSAGE = ['textbox', 'Message']

walk(1, 'The first run: paste a key', async ({ page, app, press, type, to, isAt }) => {
  await page.getByRole('region', { name: 'Connect a model' }).waitFor()
  await to('link', 'Skip to conversation')
  await press('Enter')
  await isAt(...MESSAGE)
  await to('button', 'Other…', { key: 'Shift+Tab' })
  await press('Enter')
  await to('textbox', 'Base URL')
  await type(app.provider)
  await to('textbox', /^API key/)
  await type('sk-typed-here')
  await press('Enter')
  await page.getByText('Connected. 1 model available.').waitFor()
  await press('Enter')
  await page.getByRole('region', { name: 'Connect a model' }).waitFor({ state: 'detached' })
  await isAt(...MESSAGE)
  assert.match(await readFile(join(app.home, '.env'), 'utf8'), /='sk-typed-here'/)
})

walk(2, 'The tour: change SOUL.md and see what it does', async ({ page, app, press, to, isAt }) => {
  const LINE = 'End every response with a greeting from the sea.'
  const soul = () => readFile(join(app.home, 'workspace/SOUL.md'), 'utf8')
  const tour = page.getByRole('region', { name: 'Tour' })
  await to('button', 'Take a short tour', { key: 'Shift+Tab' })
  await press('Enter')
  await isAt('region', 'Tour')
  await to('button', 'Add it to SOUL.md')
  await press('Enter')
  await isAt('button', 'Save and continue')
  await press('Enter')
  await tour.getByText('Step 2 of 3').waitFor()
  assert.ok((await soul()).includes(LINE))
  await isAt('region', 'Tour')
  await to('button', 'Write a question')
  await press('Enter')
  await isAt(...MESSAGE)
  await press('Enter')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  await press('F6', 'F6')
  await isAt('region', 'Tour')
  await to('button', 'Next')
  await press('Enter')
  await tour.getByText('Step 3 of 3').waitFor()
  await to('button', 'Open the X-ray')
  await press('Enter')
  await page.getByRole('dialog', { name: 'X-ray of this response' }).waitFor()
  await press('Escape')
  await isAt('button', 'Open the X-ray')
  await to('button', 'Remove the line')
  await press('Enter')
  await until(soul, text => !text.includes(LINE), 'the line to go')
  await to('button', 'Done')
  await press('Enter')
  await tour.waitFor({ state: 'detached' })
  await isAt('region', /^(A short name|What can you help me with)/)
})

walk(3, 'Send a message, and queue another during its run', async ({ page, app, press, type, isAt }) => {
  await press('Control+Shift+o')
  await type('start the build')
  await press('Enter')
  await answers(page).getByText('Building.').waitFor()
  await type('and write the notes')
  await press('Enter')
  await page.getByText('1 message will be sent after this response').waitFor()
  await isAt(...MESSAGE)
  await app.openGate('build')
  await until(
    () => asked(page).count(),
    count => count === 2,
    'the queued message to be sent',
  )
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  await isAt(...MESSAGE)
})

walk(4, 'Edit a message and resend it; switch between the versions', async human => {
  const { page, press, type, to, isAt } = human
  await press('ArrowUp')
  await isAt('textbox', 'Edit and resend')
  await press('Control+a')
  await type('and write the report')
  await press('Enter')
  await asked(page).getByText('and write the report').waitFor()
  await page.getByText('Version 2 of 2').waitFor({ state: 'attached' })
  await settled(page)
  await isAt(...MESSAGE)
  await to('button', 'Previous version', { key: 'Shift+Tab' })
  await press('Enter')
  await asked(page).getByText('and write the notes').waitFor()
  await isAt('button', 'Next version')
  await press('Enter')
  await asked(page).getByText('and write the report').waitFor()
  await isAt('button', 'Previous version')
})

walk(5, 'Regenerate a response, copy it, and branch from it', async ({ page, press, isAt }) => {
  await press('Shift+F6', 'F6')
  await isAt('region', 'A short name')
  await press('ArrowUp')
  await isAt('article', 'miniclaw')
  await press('r')
  await page.getByText('Version 3 of 3').waitFor({ state: 'attached' })
  await settled(page)
  await isAt('region', 'A short name')
  await press('ArrowUp')
  await isAt('article', 'miniclaw')
  await press('c')
  await until(
    () => page.evaluate(() => navigator.clipboard.readText()),
    text => text === 'All right.',
    'the copy',
  )
  const before = idOf(page)
  await press('b')
  await page.waitForURL(url => url.pathname.startsWith('/s/') && !url.pathname.includes(before))
  await page.getByRole('link', { name: /^Branched from/ }).waitFor()
  await isAt('region', /and write the report/)
})

walk(6, 'Find a word in the conversation; its start and its end', async ({ page, press, type, isAt }) => {
  await press('Control+k')
  await isAt('combobox', 'Search commands, conversations and files…')
  await type('A long talk')
  await press('Enter')
  await page.waitForURL('**/s/long')
  await answers(page).last().waitFor()
  await isAt('region', 'A long talk')
  await press('Control+f')
  await isAt('textbox', 'Find in conversation')
  await type('heron')
  const bar = page.getByRole('search', { name: 'Find in conversation' })
  await bar.getByText('3 of 3').waitFor()
  await press('Shift+Enter')
  await bar.getByText('2 of 3').waitFor()
  await press('Escape')
  await isAt(...MESSAGE)
  await press('Shift+F6', 'F6', 'Home')
  await asked(page).getByText('Question 0 about herons', { exact: true }).waitFor()
  await press('End')
  await answers(page)
    .getByText(`Answer ${EXCHANGES - 1}.`)
    .waitFor()
  await isAt('region', 'A long talk')
})

walk(7, 'See how full the context is, and what is left out', async ({ page, press, to, isAt }) => {
  const meter = page.getByRole('meter', { name: 'Context' })
  const words = await until(
    () => meter.getAttribute('aria-valuetext'),
    text => /messages are not sent/.test(text ?? ''),
    'the meter',
  )
  const count = Number(/\d+(?= messages)/.exec(words)[0])
  await press('Home')
  const line = page.getByRole('article', { name: 'Context' })
  await line.getByText(`Not sent from here up: ${count} messages`).waitFor()
  await press('/')
  await isAt(...MESSAGE)
  await to('button', 'Compact conversation', { key: 'Shift+Tab' })
  await press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Compact conversation' })
  await dialog.getByRole('button', { name: 'Generate summary' }).waitFor()
  await press('Escape')
  await isAt('button', 'Compact conversation')
})

walk(8, 'Compact the conversation, and undo it', async ({ page, app, press, to, isAt }) => {
  await press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Generate summary' }).waitFor()
  await to('button', 'Generate summary')
  await press('Enter')
  await isAt('textbox', 'Summary')
  await to('button', 'Replace with summary')
  await press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.equal((await history(app, 'long')).compressed_context, 'They counted.')
  await press('F8')
  await isAt('button', 'Undo')
  await press('Enter')
  await until(
    async () => (await history(app, 'long')).messages.length,
    count => count === 2 * EXCHANGES,
    'all messages',
  )
  await isAt('region', 'A long talk')
})

walk(
  9,
  'Add a provider, mark a favorite, and choose it here',
  async ({ page, app, press, type, to, isAt }) => {
    await press('Control+Comma')
    await isAt('searchbox', 'Search settings')
    await to('button', 'Providers and models')
    await press('Enter')
    await isAt('heading', 'Providers and models')
    await to('button', 'Add provider')
    await press('Enter')
    await to('button', 'Other…')
    await press('Enter')
    await to('textbox', 'Base URL')
    await type(second)
    await press('Enter')
    await page.getByText('Connected. 3 models available.').waitFor()
    await press('Enter')
    const card = page.getByRole('article').filter({ hasText: second })
    await card.getByText('Ready').waitFor()
    await isAt('button', 'Add provider')
    await to('summary', '3 of 3 models', { key: 'Shift+Tab' })
    await press('Enter')
    await to('button', 'Favorite: beta')
    await press('Enter')
    await card.locator('[aria-label="Favorite: beta"][aria-pressed=true]').waitFor()
    await isAt('button', 'Favorite: beta')
    await press('Escape')
    await isAt('region', 'A long talk')
    await press('/')
    await to('button', /^Model: /)
    await press('Enter')
    await isAt('menuitemcheckbox', /^Default: alpha/)
    await press('ArrowDown')
    await isAt('menuitemcheckbox', /beta/)
    await press('Enter')
    await isAt('button', /^Model: .*beta/)
    assert.match((await history(app, 'long')).chosen.model, /beta$/)
  },
)

walk(10, 'Search a setting, and change it', async ({ app, press, type, to, isAt }) => {
  await press('Control+Comma')
  await isAt('searchbox', 'Search settings')
  await type('max_iterations')
  await to('spinbutton', /./)
  await press('Control+a')
  await type('7')
  await press('Enter')
  await until(
    () => readFile(join(app.home, 'config.yml'), 'utf8'),
    text => text.includes('max_iterations: 7'),
    'the file',
  )
  await isAt('spinbutton', 'Maximum model calls per message')
  await press('Escape')
  await isAt('button', /^Model: .*beta/)
})

const card = page => page.getByRole('group', { name: /^Approval needed/ })

walk(
  11,
  'Allow a call once, and deny another with a reason',
  async ({ page, app, press, type, to, isAt }) => {
    await press('Control+Shift+o')
    await isAt(...MESSAGE)
    await type('count once')
    await press('Enter')
    await card(page).getByText('echo one').waitFor()
    await isAt('group', /^Approval needed/)
    await press('Control+Alt+Enter')
    await answers(page).getByText('Counted.').waitFor()
    await settled(page)
    await isAt(...MESSAGE)
    await type('something dangerous')
    await press('Enter')
    await card(page).getByText('echo boom').waitFor()
    await isAt('group', /^Approval needed/)
    await to('button', 'Deny with reason…')
    await press('Enter')
    await isAt('textbox', 'Reason (sent to miniclaw)')
    await type('Not on a Sunday.')
    await press('Control+Alt+Backspace')
    await answers(page).getByText('Then not.').waitFor()
    await settled(page)
    assert.ok(JSON.stringify(await app.requests()).includes('Not on a Sunday.'))
    await isAt(...MESSAGE)
  },
)

walk(12, 'Always allow a command, and remove this rule', async ({ page, app, press, type, to, isAt }) => {
  const rules = () => ask(app, '/api/approvals/always')
  await type('the same always')
  await press('Enter')
  await card(page).getByText('echo always').waitFor()
  await to('button', /^Always allow this exact command/)
  await press('Enter')
  await answers(page).getByText('Always.').waitFor()
  await settled(page)
  await isAt(...MESSAGE)
  assert.match(JSON.stringify(await rules()), /echo always/)
  await press('Control+Comma')
  await type('always')
  await page.getByText('echo always').last().waitFor()
  await to('button', 'Remove rule for terminal')
  await press('Enter')
  await page.getByText('Nothing is always allowed').waitFor()
  assert.doesNotMatch(JSON.stringify(await rules()), /echo always/)
  await isAt('dialog', 'Settings')
  await press('Escape')
  await isAt(...MESSAGE)
})
