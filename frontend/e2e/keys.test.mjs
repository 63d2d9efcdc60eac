// Keyboard actions, and what a person sees of work that went on in the background.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, withMiniclaw } from './fixtures.mjs'
import { answers, composer, say, settled, shot, until } from './harness.mjs'

const change = (id, name, args) => ({ tool_call: { id, name, arguments: args } })
const REPLIES = [
  {
    match: 'show me code',
    repeat: true,
    steps: [{ text: 'Here:\n\n```sh\necho one\n```\n\nor\n\n```sh\necho two\n```\n' }, { finish: 'stop' }],
  },
  { match: 'in the background', steps: [{ text: 'Begun. ' }, { gate: 'later' }, { finish: 'stop' }] },
  { match: 'without an end', steps: [{ text: 'Begun. ' }, { gate: 'never' }, { finish: 'stop' }] },
  {
    match: 'what is a half',
    steps: [{ text: 'It is $\\frac{1}{2}$, not $5 or $6:\n\n$$\nx\n+ y\n$$\n' }, { finish: 'stop' }],
  },
  {
    match: 'change two files',
    steps: [
      change('f1', 'create_file', { path: 'memory/one.md', content: 'one\n' }),
      change('f2', 'create_file', { path: 'memory/two.md', content: 'two\n' }),
      { finish: 'tool_calls' },
    ],
  },
  { match: 'change two files', steps: [{ text: 'Done.' }, { finish: 'stop' }] },
]
const test = withMiniclaw({
  replies: REPLIES,
  config: 'approvals: {tools: {create_file: unattended}}\n',
})
const log = page => page.getByRole('log')
const sheet = page => page.getByRole('dialog', { name: 'Keyboard shortcuts' })

test('arrow up edits the last message, and letters act on the focused message', async ({ open }) => {
  const page = await open()
  await say(page, 'show me code')
  await answers(page).getByText('echo two').waitFor()
  await settled(page)
  await composer(page).press('ArrowUp')
  const field = page.getByRole('textbox', { name: 'Edit and resend' })
  assert.equal(await field.inputValue(), 'show me code')
  await field.press('Escape')
  await field.waitFor({ state: 'detached' })
  await page.locator('#pane-chat').focus()
  await page.keyboard.press('ArrowUp')
  await until(
    () => page.evaluate(() => document.activeElement.getAttribute('aria-label')),
    label => label === 'miniclaw',
    'the focus on the last message',
  )
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('e')
  await field.waitFor()
})

test('a shortcut copies the last code block', async ({ open }) => {
  const page = await open({
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  await say(page, 'show me code')
  await answers(page).getByText('echo two').waitFor()
  await settled(page)
  await page.keyboard.press('Control+Shift+;')
  await page.getByText('Last code block copied.').first().waitFor()
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'echo two\n')
})

test('shortcuts are recorded, stored and reset', async ({ open }) => {
  const page = await open()
  await page.keyboard.press('Control+/')
  const change = sheet(page).getByRole('button', { name: 'Change keybinding for “Command palette”' })
  await change.click()
  await page.keyboard.press('Control+b')
  await sheet(page).getByText('Ctrl B is already assigned to “Show or hide conversation list”.').waitFor()
  await page.keyboard.press('j')
  await sheet(page).getByText('On its own, this key types text').waitFor()
  await page.keyboard.press('Control+j')
  await sheet(page).getByText('J', { exact: true }).waitFor()
  await sheet(page).getByRole('button', { name: 'Remove keybinding for “Focus message input”' }).click()
  assert.deepEqual(await faults(page), [])
  await shot(page, 'keys')
  await page.reload()
  await composer(page).waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.press('Control+j')
  await page.getByRole('dialog', { name: 'Command palette' }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+/')
  await sheet(page).getByRole('button', { name: 'Reset to defaults' }).click()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog', { name: 'Command palette' }).waitFor()
})

test('the palette opens a file by its name', async ({ open }) => {
  const page = await open()
  const text = page.locator('#pane-right .cm-content')
  const openSoul = async () => {
    await page.keyboard.press('Control+p')
    await page.getByRole('combobox').fill('soul')
    await page.getByRole('option', { name: 'workspace/SOUL.md' }).waitFor()
    await page.keyboard.press('Enter')
    await text.waitFor()
  }
  await openSoul()

  const wraps = () => text.evaluate(element => element.classList.contains('cm-lineWrapping'))
  assert.equal(await wraps(), true, 'long lines are wrapped until somebody wants them whole')
  await text.press('Alt+z')
  await until(wraps, on => !on, 'long lines to be whole')
  await page.reload()
  await composer(page).waitFor()
  await openSoul()
  assert.equal(await wraps(), false, 'it is kept')
  await text.press('Alt+z')
  await until(wraps, on => on, 'long lines to be wrapped')
})

test('a session that grew unseen is marked until opened, and shows its first words without a title', async ({
  app,
  open,
}) => {
  const page = await open()
  await say(page, 'in the background')
  await page.waitForURL(/\/s\//)
  const path = new URL(page.url()).pathname
  const row = page.locator(`#pane-left a[href="${path}"]`)
  await answers(page).getByText('Begun.').waitFor()
  await row.getByText('in the background').waitFor()
  await page.getByRole('button', { name: 'New chat', exact: true }).click()
  await page.waitForURL(`${app.url}/`)
  assert.equal(await row.getByText('Unread').count(), 0)
  await app.openGate('later')
  await row.getByText('Unread').waitFor({ state: 'attached' })
  await shot(page, 'unread')
  await row.click()
  await row.getByText('Unread').waitFor({ state: 'detached' })
})

test('a run in another conversation is stopped from its row', async ({ open }) => {
  const page = await open()
  await say(page, 'without an end')
  await answers(page).getByText('Begun.').waitFor()
  const row = page.locator(`#pane-left a[href="${new URL(page.url()).pathname}"]`)
  await page.getByRole('button', { name: 'New chat', exact: true }).click()
  await row.getByText('Running').waitFor()
  await row.hover()
  await page.getByRole('button', { name: 'Actions for without an end' }).click()
  await page.getByRole('menuitem', { name: 'Stop', exact: true }).click()
  await row.getByText('Running').waitFor({ state: 'detached' })
  await row.click()
  await page.getByText('Stopped', { exact: false }).first().waitFor()
})

test('all changes of a work are undone and redone at once, and later edits stay', async ({ app, open }) => {
  const page = await open()
  await say(page, 'change two files')
  await page.getByRole('heading', { name: '2 files changed' }).waitFor()
  await settled(page)
  const files = page.locator('#pane-right')
  await files
    .getByRole('treeitem', { name: /one\.md/ })
    .first()
    .waitFor()
  await shot(page, 'changed')
  await page.getByRole('button', { name: 'Undo all changes' }).click()
  const dialog = page.getByRole('dialog', { name: 'Undo all changes' })
  await dialog
    .getByRole('region', { name: 'memory/one.md' })
    .getByText(/^removed|^added/)
    .first()
    .waitFor({ state: 'attached' })
  await dialog.getByText('What was sent over the network stays').waitFor()
  await shot(page, 'undo-work')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  assert.equal(await log(page).getByText('undone', { exact: true }).count(), 0, 'looking undoes nothing')
  await page.getByRole('button', { name: 'Undo all changes' }).click()
  await dialog.getByRole('button', { name: 'Undo 2 changes' }).click()
  await page.getByText('2 changes undone').first().waitFor()
  await until(
    () => log(page).getByText('undone', { exact: true }).count(),
    n => n === 2,
    'both marked',
  )
  await page
    .locator('section', { hasText: '2 changes undone' })
    .getByRole('button', { name: 'Redo' })
    .last()
    .click()
  await until(
    () => log(page).getByText('undone', { exact: true }).count(),
    n => n === 0,
    'both back',
  )
  await writeFile(join(app.home, 'memory/one.md'), 'mine\n')
  await page.getByRole('button', { name: 'Undo all changes' }).click()
  await dialog.getByRole('region', { name: 'memory/one.md' }).getByText('It won’t be undone').waitFor()
  await dialog.getByRole('button', { name: 'Undo 1 change' }).click()
  await page.getByText('1 change undone').first().waitFor()
  assert.equal(await readFile(join(app.home, 'memory/one.md'), 'utf8'), 'mine\n')
})

test('formulas render, prices do not, and the content security policy holds', async ({ open }) => {
  const page = await open()
  await say(page, 'what is a half')
  await log(page).locator('math mfrac').waitFor()
  await log(page).locator('.formula math').waitFor()
  await answers(page).getByText('not $5 or $6:').waitFor()
  assert.deepEqual(await faults(page), [])
  await shot(page, 'math')
})

test('a file has a URL with a line number', async ({ app, open }) => {
  await writeFile(join(app.home, 'memory/多行 notes.md'), 'one\ntwo\nthree\n')
  const path = `/f/memory/${encodeURIComponent('多行 notes.md')}?line=2`
  const page = await open({ path })
  await page.locator('#pane-right .cm-passage', { hasText: 'two' }).waitFor()
  assert.equal(new URL(page.url()).pathname, '/')
})
