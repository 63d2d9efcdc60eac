// What miniclaw did in a conversation, work by work.
import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, MOBILE, say, settled, shot, until } from './harness.mjs'

const call = (id, name, given) => ({ tool_call: { id, name, arguments: given } })
const turn = (match, n) => ({
  match,
  steps: [
    call(`new${n}`, 'create_file', { path: `knowledge/${n}.md`, content: 'x\n' }),
    call(`gone${n}`, 'read_file', { path: 'knowledge/none.md' }),
    { finish: 'tool_calls' },
  ],
})
const test = withMiniclaw({ replies: [1, 2, 3, 4, 5, 6].map(n => turn(`file ${n}`, n)) })
const WORDS = {
  en: { button: 'Operations of this response', show: 'Show in conversation' },
  zh: { button: '此回复的操作记录', show: '在对话中显示' },
}
const isThere = path =>
  access(path).then(
    () => true,
    () => false,
  )

test('the operations of a response are listed, undone, redone, and lead back to it', async ({
  app,
  open,
}) => {
  const page = await open()
  await say(page, 'hello')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  await say(page, 'Please make file 1')
  await answers(page).getByText('knowledge/1.md').first().waitFor()
  await settled(page)
  await answers(page).last().hover()
  const button = answers(page).last().getByRole('button', { name: WORDS.en.button })
  assert.equal(await answers(page).first().getByRole('button', { name: WORDS.en.button }).count(), 0)
  await button.click()
  const dialog = page.getByRole('dialog', { name: 'Operations' })
  const work = dialog.getByRole('region', { name: 'Please make file 1' })
  await work.waitFor()
  assert.equal(await dialog.getByRole('region').count(), 2)
  const made = work.getByRole('listitem').filter({ hasText: 'create_file' })
  await made.getByText('Done', { exact: true }).waitFor({ state: 'attached' })
  const missed = work.getByRole('listitem').filter({ hasText: 'read_file' })
  await missed.getByText('Failed', { exact: true }).waitFor({ state: 'attached' })
  await missed.locator('summary').click()
  await missed.getByText('knowledge/none.md').nth(1).waitFor()
  assert.deepEqual(await faults(page), [])

  const file = join(app.home, 'knowledge/1.md')
  await made.locator('summary').click()
  await made.getByRole('button', { name: 'Undo' }).click()
  await made.getByRole('button', { name: 'Redo' }).waitFor()
  assert.ok(!(await isThere(file)))
  await made.getByRole('button', { name: 'Redo' }).click()
  await made.getByRole('button', { name: 'Undo' }).waitFor()
  assert.ok(await isThere(file))

  await work.getByRole('link', { name: WORDS.en.show }).click()
  await dialog.waitFor({ state: 'detached' })
  await until(
    () => answers(page).last().getAttribute('data-target'),
    target => target !== null,
    'the response in view',
  )
})

test('the palette opens the operations of the conversation', async ({ open }) => {
  const page = await open()
  await say(page, 'Please make file 2')
  await settled(page)
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('operations')
  await page.getByRole('option', { name: 'Operations' }).click()
  await page
    .getByRole('dialog', { name: 'Operations' })
    .getByRole('region', { name: 'Please make file 2' })
    .getByRole('listitem')
    .first()
    .waitFor()
})

for (const [i, { look, small, given }] of LOOKS.entries()) {
  test(`the operations: ${look}`, async ({ open }) => {
    const words = WORDS[given.lang ?? 'en']
    const page = await open(small ? { ...MOBILE, ...given } : given)
    await page.locator('[data-composer]').fill(`file ${i + 3}`)
    await page.locator('[data-composer]').press(small ? 'Control+Enter' : 'Enter')
    await page.getByRole('button', { name: words.button }).waitFor({ state: 'attached' })
    await page.getByRole('button', { name: words.button }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('link', { name: words.show }).waitFor()
    await dialog.getByRole('listitem').getByRole('listitem').first().locator('summary').click()
    assert.deepEqual(await faults(page), [])
    await shot(page, `operations-${look}`)
  })
}
