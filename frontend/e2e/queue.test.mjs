// Messages sent during a run wait in a queue; an answer goes on or is requested again in place.
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { withMiniclaw } from './fixtures.mjs'
import { answers, composer, say, settled, shot, until } from './harness.mjs'

const held = (match, text, gate) => ({
  match,
  steps: [{ text: `${text} ` }, { gate }, { text: 'Done.' }, { finish: 'stop' }],
})
const replies = [
  held('start the build', 'Building.', 'build'),
  held('start the tests', 'Testing.', 'tests'),
  held('start the release', 'Releasing.', 'release'),
  { match: 'fail once', steps: [{ status: 401 }] },
  { match: 'fail once', steps: [{ text: 'Now it works.' }, { finish: 'stop' }] },
  {
    match: 'delete the folder',
    steps: [
      { tool_call: { id: 'rm', name: 'terminal', arguments: { command: 'rm -r build' } } },
      { finish: 'tool_calls' },
    ],
  },
  { match: 'keep the folder', steps: [{ text: 'I keep it.' }, { finish: 'stop' }] },
]
const test = withMiniclaw({
  replies,
  config: 'find_local_models: false\n',
  prepare: app => mkdir(join(app.home, 'scratch/build')),
})

const queue = page => page.getByRole('region', { name: 'Queued messages' })
const rows = page => queue(page).getByRole('listitem')
const asked = page => page.getByRole('article', { name: 'You', exact: true })

test('a message sent during a run waits, and is sent after it', async ({ app, open }) => {
  const page = await open()
  await say(page, 'start the build')
  await answers(page).getByText('Building.').waitFor()
  await composer(page).getByText('').waitFor()
  assert.match(await composer(page).getAttribute('placeholder'), /queue a follow-up/)
  await say(page, 'and write the notes')
  await say(page, 'and tell the team')
  await until(
    () => rows(page).count(),
    count => count === 2,
    'two queued messages',
  )
  await queue(page).getByText('2 messages will be sent after this response').waitFor()
  await shot(page, 'queue')
  assert.equal(await asked(page).count(), 1, 'nothing is interrupted')
  await page.reload()
  await until(
    () => rows(page).count(),
    count => count === 2,
    'the queue after a reload',
  )
  await app.openGate('build')
  await answers(page).getByText('Building. Done.').waitFor()
  await until(
    () => asked(page).count(),
    count => count === 3,
    'both have run',
  )
  await settled(page)
  assert.equal(await queue(page).count(), 0)
  assert.deepEqual(
    await asked(page).evaluateAll(list => list.map(item => item.innerText.trim().split('\n')[0])),
    ['start the build', 'and write the notes', 'and tell the team'],
  )
})

test('a queued message is edited, removed, brought back and sent at once by keyboard', async ({ open }) => {
  const page = await open()
  await say(page, 'start the tests')
  await answers(page).getByText('Testing.').waitFor()
  await say(page, 'first')
  await say(page, 'second')
  await until(
    () => rows(page).count(),
    count => count === 2,
    'two queued messages',
  )
  await rows(page).first().getByRole('button', { name: 'Edit message' }).press('Enter')
  const field = queue(page).getByRole('textbox', { name: 'Edit message' })
  await field.fill('first, but better')
  await field.press('Enter')
  await rows(page).first().getByText('first, but better').waitFor()
  await until(
    () => composer(page).evaluate(it => it === document.activeElement),
    yes => yes,
    'focus',
  )
  await rows(page).first().getByRole('button', { name: 'Remove from queue' }).press('Enter')
  await until(
    () => rows(page).count(),
    count => count === 1,
    'one queued message',
  )
  await page.getByRole('button', { name: 'Undo', exact: true }).click()
  await until(
    () => rows(page).count(),
    count => count === 2,
    'it is back',
  )
  await rows(page).last().getByRole('button', { name: 'Send now' }).press('Enter')
  await answers(page).getByText('Stopped', { exact: true }).waitFor()
  await until(
    () => asked(page).count(),
    count => count === 3,
    'all have run',
  )
  await settled(page)
  assert.match(await asked(page).nth(1).innerText(), /first, but better/)
})

test('Ctrl+Enter interrupts the run', async ({ open }) => {
  const page = await open()
  await say(page, 'start the release')
  await answers(page).getByText('Releasing.').waitFor()
  await composer(page).fill('wait')
  await composer(page).press('Control+Enter')
  await answers(page).getByText('Stopped', { exact: true }).waitFor()
  await until(
    () => asked(page).count(),
    count => count === 2,
    'the message runs',
  )
  await settled(page)
})

test('Retry replaces a failed answer and does not repeat the question', async ({ open }) => {
  const page = await open()
  await say(page, 'fail once')
  await page.getByRole('button', { name: 'Retry', exact: true }).click()
  await answers(page).getByText('Now it works.').waitFor()
  await settled(page)
  assert.deepEqual([await asked(page).count(), await answers(page).count()], [1, 1])
  await page.reload()
  await answers(page).getByText('Now it works.').waitFor()
  assert.deepEqual([await asked(page).count(), await answers(page).count()], [1, 1])
})

test('a message during an approval denies it with that text', async ({ app, open }) => {
  const page = await open()
  await say(page, 'delete the folder')
  await page.getByRole('button', { name: /^(Apply|Allow once)/ }).waitFor()
  await until(
    () => composer(page).getAttribute('placeholder'),
    text => text.startsWith('Deny, and say'),
    'the field to say what a message does',
  )
  await composer(page).fill('keep the folder')
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  assert.match(
    await page.getByRole('button', { name: 'Send', exact: true }).getAttribute('title'),
    /Deny the waiting calls/,
  )
  await composer(page).press('Enter')
  await until(
    async () => JSON.stringify(await app.requests()),
    sent => sent.includes('keep the folder'),
    'the model to read it',
  )
  await settled(page)
  assert.equal(await asked(page).count(), 1)
})
