import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withMiniclaw } from './fixtures.mjs'
import { answers, ask, composer, say, settled, shot, until } from './harness.mjs'

const LONG_FILE = { path: 'knowledge/long.md', content: 'A line of a long file.\n'.repeat(200) }

const REPLIES = [
  {
    match: 'write a long one',
    steps: [
      { tokens: { count: 60, text: 'Line {n}.\n\n' } },
      { gate: 'long' },
      { text: 'The end.' },
      { finish: 'stop' },
    ],
  },
  {
    match: 'tell me slowly',
    steps: [{ text: 'One ' }, { gate: 'slowly' }, { text: 'two **three**.' }, { finish: 'stop' }],
  },
  {
    match: 'what do you remember',
    steps: [
      { text: 'I look it up.' },
      { tool_call: { id: 'c1', name: 'read_file', arguments: { path: 'memory/MEMORY.md' } } },
      { finish: 'tool_calls' },
    ],
  },
  { match: 'what do you remember', steps: [{ text: 'Now I know.' }, { finish: 'stop' }] },
  {
    match: 'count for me',
    steps: [{ text: 'alpha beta ' }, { gate: 'count' }, { text: 'gamma delta' }, { finish: 'stop' }],
  },
  {
    match: 'write a long file',
    steps: [
      { text: 'I write it.' },
      { tool_call: { id: 'c2', name: 'create_file', arguments: LONG_FILE } },
      { gate: 'written' },
      { finish: 'tool_calls' },
    ],
  },
  { match: 'write a long file', steps: [{ text: 'It is written.' }, { finish: 'stop' }] },
  { match: 'run until Esc', steps: [{ text: 'Under way. ' }, { gate: 'esc' }, { finish: 'stop' }] },
  {
    match: 'go on forever',
    steps: [{ text: 'Begun. ' }, { gate: 'never' }, { text: 'x' }, { finish: 'stop' }],
  },
]

const test = withMiniclaw({ replies: REPLIES })

test('an answer streams in, and the conversation gets a title', async ({ app, open }) => {
  const page = await open()
  await say(page, 'tell me slowly')
  await answers(page).getByText('One').waitFor()
  await page.getByRole('button', { name: 'Stop', exact: true }).waitFor()
  assert.equal(await answers(page).locator('strong').count(), 0)
  await shot(page, 'streaming')
  await app.openGate('slowly')
  await answers(page).locator('strong', { hasText: 'three' }).waitFor()
  await settled(page)
  assert.match(new URL(page.url()).pathname, /^\/s\/.+/)
  assert.ok(
    await composer(page).evaluate(field => field === document.activeElement),
    'who wrote can write on',
  )
  await page.getByRole('heading', { name: 'A short name' }).waitFor()
  await until(
    () => page.title(),
    title => title.includes('A short name'),
    'the name in the window title',
  )
})

test('a message whose answer overtakes the response to its POST shows once, above the answer', async ({
  open,
}) => {
  const page = await open()
  let release
  const held = new Promise(resolve => {
    release = resolve
  })
  await page.route('**/messages', async route => {
    const response = await route.fetch()
    await held
    await route.fulfill({ response })
  })
  await say(page, 'hello')
  await answers(page).getByText('All right.').waitFor()
  const rows = () =>
    page.getByRole('log').evaluate(log =>
      [...log.querySelectorAll('article')].map(row => {
        const { top, bottom } = row.getBoundingClientRect()
        return { who: row.getAttribute('aria-label'), top: Math.round(top), bottom: Math.round(bottom) }
      }),
    )
  const inOrder = ([asked, answered, ...more]) =>
    asked?.who === 'You' && answered?.who === 'miniclaw' && !more.length && asked.bottom === answered.top
  await until(rows, inOrder, 'the question above its answer')
  release()
  await settled(page)
  await until(rows, inOrder, 'the two where they were')
})

test('the end of an answer stays in view while the composer grows', async ({ app, open }) => {
  const page = await open()
  await say(page, 'write a long one')
  await answers(page).getByText('Line 59.').waitFor()
  const gap = () => page.getByRole('log').evaluate(box => box.scrollHeight - box.scrollTop - box.clientHeight)
  const height = () => page.getByRole('log').evaluate(box => box.clientHeight)
  const before = await height()
  for (let line = 0; line < 7; line += 1) {
    await composer(page).press('Shift+Enter')
    await until(gap, px => Math.abs(px) < 1, 'the end in view')
  }
  assert.ok((await height()) < before - 100, 'the composer took room')
  await app.openGate('long')
  await answers(page).getByText('The end.').waitFor()
  await until(gap, px => Math.abs(px) < 1, 'the end in view')
})

test('a tool call shows its input and its output in the chain', async ({ app, open }) => {
  const marker = 'The user is called Ada Lovelace.'
  const memory = join(app.home, 'memory/MEMORY.md')
  await writeFile(memory, `${await readFile(memory, 'utf8')}\n${marker}\n`)
  const page = await open()
  await say(page, 'what do you remember')
  await answers(page).getByText('Now I know.').waitFor()
  await settled(page)
  const chain = answers(page).locator('summary', { hasText: 'Read 1 file' })
  await chain.waitFor()
  const step = answers(page).locator('summary', { hasText: 'read_file' })
  if (!(await step.isVisible())) await chain.click()
  await step.click()
  const input = answers(page).getByRole('region', { name: 'Input' })
  await input.getByText('memory/MEMORY.md').waitFor()
  await answers(page).getByRole('region', { name: 'Output' }).getByText(marker).waitFor()
  await shot(page, 'tool-chain')
})

test('a call shows in the chain while the model is still writing its input', async ({ app, open }) => {
  const page = await open()
  await say(page, 'write a long file')
  const chain = answers(page).locator('details.chain')
  await chain.getByText('Generating input').waitFor()
  await chain
    .locator('li', { hasText: 'create_file' })
    .getByText(/^\d+(\.\d)? KB$/)
    .waitFor()
  await chain.getByText('1 step', { exact: true }).waitFor()
  await shot(page, 'tool-input')
  await app.openGate('written')
  await answers(page).getByText('It is written.').waitFor()
  await settled(page)
  assert.equal(await chain.getByText('Generating input').count(), 0)
  assert.equal(await readFile(join(app.home, LONG_FILE.path), 'utf8'), LONG_FILE.content)
})

test('a reload during an answer loses and duplicates nothing', async ({ app, open }) => {
  const page = await open()
  await say(page, 'count for me')
  await answers(page).getByText('alpha beta').waitFor()
  await page.waitForURL(/\/s\//)
  await page.reload()
  await answers(page).getByText('alpha beta').waitFor()
  await page.getByRole('button', { name: 'Stop', exact: true }).waitFor()
  await app.openGate('count')
  await answers(page).getByText('gamma delta').waitFor()
  await settled(page)
  assert.equal(await answers(page).count(), 1)
  assert.equal((await answers(page).locator('.md').allInnerTexts()).join('|'), 'alpha beta gamma delta')
  await page.reload()
  await answers(page).getByText('gamma delta').waitFor()
  assert.equal((await answers(page).locator('.md').allInnerTexts()).join('|'), 'alpha beta gamma delta')
})

test('stop ends the work and keeps the text so far', async ({ open }) => {
  const page = await open()
  await say(page, 'go on forever')
  await answers(page).getByText('Begun.').waitFor()
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await answers(page).getByText('Stopped', { exact: true }).waitFor()
  await settled(page)
  await answers(page).getByText('Begun.').waitFor()
  await answers(page).getByRole('button', { name: 'Continue', exact: true }).click()
  await answers(page).getByText('Begun. All right.').waitFor()
  await settled(page)
  assert.equal(
    await page.getByRole('article', { name: 'You', exact: true }).count(),
    1,
    'it goes on in place',
  )
  assert.equal(
    await page.getByRole('button', { name: 'Continue', exact: true }).count(),
    0,
    'only after the last',
  )
})

test('screen readers announce a complete reply if the setting is on', async ({ open }) => {
  const page = await open()
  const status = page.locator('[role=status].sr-only')
  await say(page, 'hello')
  await answers(page).getByText('All right.').waitFor()
  await status.getByText('Response complete').waitFor({ state: 'attached' })
  await page.keyboard.press('Control+,')
  const settings = page.getByRole('dialog', { name: 'Settings' })
  await settings.getByRole('switch', { name: 'Announce completed responses' }).click()
  await settings.getByRole('switch', { name: 'Reduce transparency' }).click()
  await page.keyboard.press('Escape')
  await say(page, 'hello again')
  await status.getByText('All right.').waitFor({ state: 'attached' })
  const filled = () =>
    page.evaluate(() => getComputedStyle(document.querySelector('#pane-chat')).backgroundColor)
  assert.doesNotMatch(await filled(), /0\.\d+\)$/, 'the panes let nothing through')
})

test('Esc in the conversation stops the work', async ({ open }) => {
  const page = await open()
  await say(page, 'run until Esc')
  await answers(page).getByText('Under way.').waitFor()
  await composer(page).press('Escape')
  await answers(page).getByText('Stopped', { exact: true }).waitFor()
})

test('with knowledge retrieval on, the found passages show above the answer', async ({ open }) => {
  const page = await open()
  await page.getByRole('switch', { name: 'Memory retrieval' }).click()
  await page.locator('[role=switch][aria-checked=true]').waitFor()
  await say(page, 'Who is Ada Lovelace?')
  const card = answers(page).locator('details', { hasText: 'retrieved' })
  await card.locator('summary').first().click()
  await card.getByRole('link', { name: 'memory/MEMORY.md' }).first().waitFor()
  await answers(page).getByText('All right.').waitFor()
  await shot(page, 'retrieval')
  await card.getByRole('link', { name: 'memory/MEMORY.md' }).first().click()
  await page
    .getByRole('region', { name: 'Inspector' })
    .locator('.cm-content')
    .getByText('Ada Lovelace')
    .waitFor()
  await page.getByRole('switch', { name: 'Memory retrieval' }).click()
  await page.locator('[role=switch][aria-checked=false]').waitFor()
})

test('Enter that confirms a Chinese word does not send', async ({ open }) => {
  const page = await open()
  const devtools = await page.context().newCDPSession(page)
  const enter = { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 229 }
  await composer(page).focus()
  await devtools.send('Input.imeSetComposition', { text: 'nihao', selectionStart: 5, selectionEnd: 5 })
  await devtools.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...enter })
  await devtools.send('Input.insertText', { text: '你好' })
  await devtools.send('Input.dispatchKeyEvent', { type: 'keyUp', ...enter })
  assert.equal(await composer(page).inputValue(), '你好')
  assert.equal(await page.getByRole('article').count(), 0)
  await composer(page).press('Enter')
  await page.getByRole('article', { name: 'You' }).getByText('你好').waitFor()
  await answers(page).getByText('All right.').waitFor()
})

test('a draft survives a reload, and is cleared when it is sent', async ({ open }) => {
  const page = await open()
  await composer(page).fill('half a thought')
  await page.reload()
  await until(
    () => composer(page).inputValue(),
    text => text === 'half a thought',
    'the draft',
  )
  await composer(page).press('Enter')
  await answers(page).getByText('All right.').waitFor()
  assert.equal(await composer(page).inputValue(), '')
})

test('a conversation can be renamed, deleted and restored', async ({ app, open }) => {
  const page = await open()
  await say(page, 'hello there')
  await answers(page).getByText('All right.').waitFor()
  await page.getByRole('heading', { name: 'A short name' }).waitFor()
  const sessions = page.getByRole('navigation', { name: 'Conversations' })
  const current = sessions.locator('a[aria-current=page]')

  await current.dblclick()
  await page.getByRole('textbox', { name: 'New name' }).fill('Greetings')
  await page.getByRole('textbox', { name: 'New name' }).press('Enter')
  await sessions.getByRole('link', { name: 'Greetings' }).waitFor()
  // The list shows the new name before the server has it.
  await until(
    () => ask(app, '/api/sessions'),
    list => list.sessions.some(session => session.title === 'Greetings'),
    'the new name on the server',
  )
  await page.reload()
  await sessions.getByRole('link', { name: 'Greetings' }).hover()

  await sessions.getByRole('button', { name: 'Actions for Greetings' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await sessions.getByRole('link', { name: 'Greetings' }).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Undo' }).click()
  await sessions.getByRole('link', { name: 'Greetings' }).click()
  await answers(page).getByText('All right.').waitFor()
})

test('raw messages show the system prompt', async ({ open }) => {
  const page = await open()
  await say(page, 'show me')
  await answers(page).getByText('All right.').waitFor()
  await page.getByRole('button', { name: 'Raw messages' }).click()
  await page.getByRole('group', { name: 'Raw messages' }).getByText('system', { exact: true }).waitFor()
  await shot(page, 'raw')
})
