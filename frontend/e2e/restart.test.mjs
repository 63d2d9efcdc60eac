// The server restarts under an open tab: nothing is lost, and nothing is shown twice.
import assert from 'node:assert/strict'
import { withMiniclaw } from './fixtures.mjs'
import { answers, ask, composer, say, settled, until } from './harness.mjs'

const REPLIES = [
  { match: 'before', steps: [{ text: 'Said before.' }, { finish: 'stop' }] },
  { match: 'in the middle', steps: [{ text: 'Half of it.' }, { gate: 'never' }, { finish: 'stop' }] },
  { match: 'after', steps: [{ text: 'Said after.' }, { finish: 'stop' }] },
]

const test = withMiniclaw({ replies: REPLIES })

const mine = page => page.getByRole('article', { name: 'You', exact: true })

test('an open tab continues with the restarted server', async ({ app, open }) => {
  const page = await open()
  await say(page, 'before')
  await answers(page).getByText('Said before.').waitFor()
  await settled(page)
  await say(page, 'in the middle')
  await answers(page).getByText('Half of it.').waitFor()
  // Text of an answer is on disk at least once a second; a loss of text is the crash's, not the tab's.
  const session = page.url().split('/s/')[1]
  const boot = (await ask(app, '/api/status')).boot_id
  await app.restart()
  await settled(page)
  assert.equal(await mine(page).count(), 2)
  assert.equal(await answers(page).getByText('Said before.').count(), 1)
  const history = await ask(app, `/api/sessions/${session}/history`)
  assert.equal(history.messages.filter(message => message.role === 'user').length, 2)
  assert.ok(history.running == null, 'nothing runs that nobody started')
  if (boot !== undefined) assert.notEqual((await ask(app, '/api/status')).boot_id, boot)

  await say(page, 'after')
  await answers(page).getByText('Said after.').waitFor()
  await settled(page)
  assert.equal(await mine(page).count(), 3)
  assert.equal(await answers(page).getByText('Said after.').count(), 1)
  const shown = await mine(page).allInnerTexts()
  await page.reload()
  await answers(page).getByText('Said after.').waitFor()
  assert.deepEqual(await mine(page).allInnerTexts(), shown, 'a reload shows the same')
})

test('a message sent while the server is down is neither lost nor duplicated', async ({ app, open }) => {
  const page = await open()
  await say(page, 'hello there')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  const session = page.url().split('/s/')[1]
  const box = composer(page)
  await app.restart(async () => {
    await page.getByText(/^Disconnected\. Reconnecting in \d+ s$/).waitFor()
    await say(page, 'are you away?')
    await page.getByRole('log').getByText('Sends when you’re back online').waitFor()
    assert.equal(await box.inputValue(), '')
    // Only one message is queued; more than that would be a conversation with nobody.
    await box.fill('and now?')
    await box.press('Enter')
    await page.getByText('Can’t reach the server. Your message is saved as a draft.').waitFor()
    assert.equal(await box.inputValue(), 'and now?')
    assert.equal(await mine(page).count(), 2)
  })
  const said = async () => {
    const { messages } = await ask(app, `/api/sessions/${session}/history`)
    return messages.filter(message => message.content === 'are you away?').length
  }
  await until(said, count => count === 1, 'the message that waited')
  assert.equal(await box.inputValue(), 'and now?')
  await settled(page)
  assert.equal(await said(), 1)
})

test('a part of the page that fails to load says so, and the rest stays', async ({ open }) => {
  const page = await open()
  await composer(page).fill('half a thought')
  const editor = /assets\/(OpenEditor|Settings)-.*\.js/
  await page.route(editor, route => route.abort())
  await page.getByRole('tab', { name: 'Workspace', exact: true }).click()
  await page
    .locator('#pane-right')
    .getByRole('treeitem', { name: /SOUL\.md/ })
    .first()
    .click()
  await page.getByRole('alert').getByText('couldn’t be loaded').waitFor()
  await composer(page).press('Control+,')
  const told = page.getByRole('region', { name: /couldn’t be loaded/ })
  await told.waitFor()
  assert.equal(await composer(page).inputValue(), 'half a thought')

  await page.unroute(editor)
  await page.locator('#pane-right').getByRole('button', { name: 'Try again' }).click()
  await page.locator('.cm-content').waitFor()
  await told.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('dialog', { name: 'Settings' }).waitFor()
})
