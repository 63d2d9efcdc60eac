// Withdrawing a response with its changes of files, and reapplying it.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, MOBILE, say, settled, shot, until } from './harness.mjs'

const call = (id, name, given) => ({ tool_call: { id, name, arguments: given } })
const makes = (match, ...calls) => ({ match, steps: [...calls, { finish: 'tool_calls' }] })
const create = (id, path) => call(id, 'create_file', { path, content: 'one\n' })
const edit = (id, path) => call(id, 'edit_file', { path, edits: [{ search: 'one', replace: 'two' }] })
const looks = LOOKS.map(({ look }) => look)
const test = withMiniclaw({
  replies: [
    makes('Note the tea', create('c1', 'knowledge/tea.md')),
    makes('Write a list', create('c2', 'knowledge/list.md')),
    makes('Correct the list', edit('c3', 'knowledge/list.md')),
    ...looks.flatMap((look, i) => [
      makes(
        `Begin ${look}`,
        create(`a${i}`, `knowledge/${look}-a.md`),
        create(`b${i}`, `knowledge/${look}-b.md`),
        create(`d${i}`, `knowledge/${look}-c.md`),
      ),
      makes(`Go on ${look}`, edit(`e${i}`, `knowledge/${look}-b.md`)),
    ]),
  ],
})
const WORDS = {
  en: { withdraw: 'Withdraw', withdrawn: 'Withdrawn', reapply: 'Reapply', keep: 'Keep this file as it is' },
  zh: { withdraw: '撤回', withdrawn: '已撤回', reapply: '重新应用', keep: '保留此文件的现状' },
}
/** Two responses may both have a section of changed files. */
const ALIKE = { rules: { 'landmark-unique': { enabled: false } } }
const textOf = path => readFile(path, 'utf8').catch(() => null)
const becomes = (path, text) =>
  until(
    () => textOf(path),
    found => found === text,
    `${path} is ${text}`,
  )

/** Sends a message, and waits until its answer is complete. */
async function sayAndWait(page, text) {
  const known = await answers(page).count()
  await say(page, text)
  await answers(page).nth(known).getByText('All right.').waitFor()
  await settled(page)
}

async function withdrawLast(page, words = WORDS.en) {
  await answers(page).last().hover()
  await answers(page).last().getByRole('button', { name: words.withdraw, exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.waitFor()
  return dialog
}

test('a response is withdrawn with its file, in every tab, and reapplied', async ({ app, open }) => {
  const file = join(app.home, 'knowledge/tea.md')
  const page = await open()
  await sayAndWait(page, 'Note the tea')
  await page.waitForURL(/\/s\//)
  const other = await open({ path: new URL(page.url()).pathname })
  await answers(other).last().waitFor()
  const dialog = await withdrawLast(page)
  await dialog.getByRole('region', { name: 'knowledge/tea.md' }).getByText('will be deleted').waitFor()
  assert.deepEqual(await faults(page), [])
  await dialog.getByRole('button', { name: 'Withdraw' }).click()
  await becomes(file, null)
  for (const tab of [page, other]) {
    await answers(tab).last().getByText('Withdrawn', { exact: true }).waitFor()
    await answers(tab).last().getByText('All right.').waitFor()
  }
  assert.deepEqual(await faults(page), [])
  await sayAndWait(page, 'And now?')
  const asked = JSON.stringify((await app.requests()).filter(body => body.tools).at(-1).messages)
  assert.ok(!asked.includes('Note the tea'), asked)

  await page.reload()
  const first = answers(page).first()
  await first.getByText('Withdrawn', { exact: true }).waitFor()
  await first.getByRole('button', { name: 'Reapply' }).click()
  await becomes(file, 'one\n')
  for (const tab of [page, other]) {
    await answers(tab).first().getByText('Withdrawn', { exact: true }).waitFor({ state: 'detached' })
  }
})

test('a later response comes first, and a changed file can be kept', async ({ app, open }) => {
  const file = join(app.home, 'knowledge/list.md')
  const page = await open()
  await sayAndWait(page, 'Write a list')
  await sayAndWait(page, 'Correct the list')
  const first = answers(page).first()
  await first.hover()
  await first.getByRole('button', { name: 'Withdraw', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('A later response changed this file too: “Correct the list”').waitFor()
  assert.ok(await dialog.getByRole('button', { name: 'Withdraw', exact: true }).isDisabled())
  await dialog.getByRole('button', { name: 'Withdraw that response first' }).click()
  await dialog.getByText('gets its earlier content').waitFor()
  await dialog.getByRole('button', { name: 'Withdraw', exact: true }).click()
  await becomes(file, 'one\n')
  await page.getByText('Withdrawn.', { exact: false }).first().waitFor()

  await writeFile(file, 'mine\n')
  await first.hover()
  await first.getByRole('button', { name: 'Withdraw', exact: true }).click()
  await dialog.getByText('This file was changed after the response.').waitFor()
  await dialog.getByRole('checkbox').check()
  await dialog.getByRole('button', { name: 'Withdraw', exact: true }).click()
  await first.getByText('Withdrawn', { exact: true }).waitFor()
  assert.equal(await textOf(file), 'mine\n')
})

test('the keyboard alone withdraws a response and takes it back', async ({ open }) => {
  const page = await open()
  await sayAndWait(page, 'hello')
  const button = answers(page).last().getByRole('button', { name: 'Withdraw', exact: true })
  await button.focus()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.getByText('This response changed no files.').waitFor()
  await dialog.getByRole('button', { name: 'Withdraw', exact: true }).focus()
  await page.keyboard.press('Enter')
  await answers(page).last().getByText('Withdrawn', { exact: true }).waitFor()
  await page.getByRole('region', { name: 'Withdrawn. Further requests' }).waitFor()
  await page.keyboard.press('F8')
  await page.keyboard.press('Enter')
  await answers(page).last().getByText('Withdrawn', { exact: true }).waitFor({ state: 'detached' })
})

for (const { look, small, given } of LOOKS) {
  test(`a withdrawal: ${look}`, async ({ app, open }) => {
    const words = WORDS[given.lang ?? 'en']
    const page = await open(small ? { ...MOBILE, ...given } : given)
    for (const [i, question] of [`Begin ${look}`, `Go on ${look}`].entries()) {
      await page.locator('[data-composer]').fill(question)
      await page.locator('[data-composer]').press(small ? 'Control+Enter' : 'Enter')
      await answers(page).nth(i).getByRole('button', { name: words.withdraw, exact: true }).waitFor({
        state: 'attached',
      })
    }
    await writeFile(join(app.home, `knowledge/${look}-c.md`), 'mine\n')
    await answers(page).first().getByRole('button', { name: words.withdraw, exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('checkbox').first().waitFor()
    assert.equal(await dialog.getByRole('checkbox').count(), 2)
    assert.deepEqual(await faults(page, ALIKE), [])
    await shot(page, `withdraw-${look}`)
    for (const box of await dialog.getByRole('checkbox').all()) await box.check()
    await dialog.getByRole('button', { name: words.withdraw, exact: true }).click()
    await answers(page).first().getByText(words.withdrawn, { exact: true }).waitFor()
    assert.deepEqual(await faults(page, ALIKE), [])
    await shot(page, `withdrawn-${look}`)
  })
}
