// Reading a conversation: what a folded chain did, when a message was sent, and copying it as it looks.
import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, withMiniclaw } from './fixtures.mjs'
import { answers, MOBILE, say, settled, shot, until } from './harness.mjs'

const call = (id, name, args) => ({ tool_call: { id, name, arguments: args } })
const ANSWER = 'It has **two** parts:\n\n1. one\n2. `two`\n\n```js\nlet a = "<b>"\n```\n'
const test = withMiniclaw({
  replies: [
    {
      match: 'look around',
      steps: [
        call('c1', 'read_file', { path: 'memory/MEMORY.md' }),
        call('c2', 'read_file', { path: 'workspace/SOUL.md' }),
        call('c3', 'terminal', { command: 'echo hi' }),
        { finish: 'tool_calls' },
      ],
    },
    { match: 'look around', steps: [{ text: ANSWER }, { finish: 'stop' }] },
  ],
})

const DAY = 86_400

/** A conversation whose first message was sent two days ago, and whose last one today. */
async function oldConversation(app, open, look = {}) {
  const first = await open()
  await say(first, 'look around')
  await settled(first)
  await answers(first).getByText('parts').waitFor()
  await say(first, 'thank you')
  await answers(first).getByText('All right.').waitFor()
  await settled(first)
  const path = new URL(first.url()).pathname
  await first.close()
  const file = join(app.home, 'sessions', `${path.split('/')[2]}.json`)
  await app.restart(async () => {
    const session = JSON.parse(await readFile(file, 'utf8'))
    const [work] = session.messages.map(message => message.work_id)
    for (const message of session.messages) if (message.work_id === work) message.created_at -= 2 * DAY
    await writeFile(file, JSON.stringify(session))
  })
  return open({ ...look, path })
}

test('days, times, and what the calls did', async ({ app, open }) => {
  assert.ok((await readdir(app.home)).includes('sessions'))
  const page = await oldConversation(app, open)
  const days = page.locator('[role=log] hr + span')
  await until(
    () => days.count(),
    count => count === 2,
    'two days',
  )
  assert.equal(await days.last().textContent(), 'Today')
  assert.match(await days.first().textContent(), /20\d\d/)
  await answers(page).first().locator('summary', { hasText: 'Read 2 files, ran 1 command' }).waitFor()
  const sent = page.getByRole('article', { name: 'You' }).first()
  const shown = () => sent.locator('time').evaluate(time => getComputedStyle(time).opacity)
  await page.mouse.move(0, 0)
  assert.equal(await shown(), '0')
  await sent.hover()
  await sent
    .locator('time')
    .evaluate(time => Promise.all(time.getAnimations().map(animation => animation.finished)))
  assert.equal(await shown(), '1')
  assert.match(await sent.locator('time').textContent(), /^\d\d:\d\d$/)
  assert.deepEqual(await faults(page), [])
  await shot(page, 'days')
})

test('an answer is copied as it looks', async ({ app, open }) => {
  const page = await open({ permissions: ['clipboard-read', 'clipboard-write'] })
  const [{ id }] = (await (await fetch(`${app.url}/api/sessions`)).json()).sessions
  await page.goto(`${app.url}/s/${id}`)
  const answer = answers(page).first()
  await answer.hover()
  await answer.getByRole('button', { name: 'Copy as rich text' }).click()
  await answer.locator('.text-ok').last().waitFor()
  const [html, text] = await page.evaluate(async () => {
    const [item] = await navigator.clipboard.read()
    const read = async type => (await item.getType(type)).text()
    return [await read('text/html'), await read('text/plain')]
  })
  assert.equal(text.trim(), ANSWER.trim())
  assert.match(html, /<strong>two<\/strong>/)
  assert.match(html, /<ol>\s*<li>/)
  assert.match(html, /<pre><code>let a = "&lt;b&gt;"/)
  assert.doesNotMatch(html, /<button|<svg|class=/)
})

test('days and calls are Chinese on a small dark screen', async ({ app, open }) => {
  const [{ id }] = (await (await fetch(`${app.url}/api/sessions`)).json()).sessions
  const page = await open({ ...MOBILE, lang: 'zh', theme: 'dark', path: `/s/${id}` })
  await page.getByText('今天', { exact: true }).first().waitFor({ state: 'attached' })
  await page.locator('summary', { hasText: '读取 2 个文件，运行 1 条命令' }).waitFor()
  assert.deepEqual(await faults(page), [])
  await shot(page, 'days-mobile-zh-dark')
})
