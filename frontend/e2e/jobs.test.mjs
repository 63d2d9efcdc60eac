// Commands in the background: the row of their call, the line above the composer, their output, and their end.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, ask, composer, MOBILE, say, settled, shot, until } from './harness.mjs'

const started = (match, command) => [
  {
    match,
    steps: [
      {
        tool_call: {
          id: match,
          name: 'bash',
          arguments: { commands: [{ instruction: command }], background: true, timeout: 600 },
        },
      },
      { finish: 'tool_calls' },
    ],
  },
  { match, steps: [{ text: 'It is running.' }, { finish: 'stop' }] },
]
const SERVE = 'echo serving on 8000; sleep 500'
const test = withMiniclaw({
  replies: [
    ...started('start the server', SERVE),
    ...started(
      'start the build',
      'echo compiling; until grep -q go gate; do sleep 0.05; done; echo linked; exit 3',
    ),
    ...started('start and restart', 'sleep 500'),
    ...LOOKS.flatMap(({ look }) => started(`look ${look}`, SERVE)),
  ],
  // A command whose changes are kept apart may not see new files of others, but what is written into known ones.
  prepare: app => writeFile(join(app.home, 'scratch/gate'), ''),
})

const line = page => page.getByRole('region', { name: /^(Background commands|后台命令)$/ })
const row = page => answers(page).locator('[data-job]')
const sessionOf = page => new URL(page.url()).pathname.split('/')[2]

async function begin(page, words) {
  await page.getByRole('button', { name: 'Works in: Home' }).click()
  await page.getByRole('option', { name: /^scratch/ }).click()
  await say(page, words)
  await answers(page).getByText('It is running.').waitFor()
  await settled(page)
}

/** Opens the calls of the answer, which fold when it is complete. */
const openChain = page => answers(page).locator('details.chain > summary').click()

test('a background command is seen with its output and stopped, in every tab', async ({ open, app }) => {
  const page = await open()
  await begin(page, 'start the server')
  await line(page).getByText('1 command is running in the background').waitFor()
  const other = await open({ path: new URL(page.url()).pathname })
  await line(other).locator('summary').first().click()
  await line(other).getByText('echo serving on 8000; sleep 500').first().waitFor()

  await openChain(page)
  await row(page).getByText('Running in the background').waitFor()
  await row(page).locator('summary').click()
  await row(page).getByRole('log').getByText('serving on 8000').waitFor()
  assert.deepEqual(await faults(page), [])
  await shot(page, 'jobs-running')

  await line(other)
    .getByRole('button', { name: `Stop ${SERVE}` })
    .click()
  await line(other).waitFor({ state: 'detached' })
  await until(
    () => composer(other).evaluate(field => field === document.activeElement),
    Boolean,
    'the focus in the composer',
  )
  await line(page).waitFor({ state: 'detached' })
  await row(page).getByText('Stopped').waitFor()
  assert.equal(await row(page).getByRole('button').count(), 0)
  const [job] = await ask(app, `/api/sessions/${sessionOf(page)}/jobs`)
  assert.deepEqual([job.state, job.code], ['ended', 'stopped'])
  await shot(page, 'jobs-stopped')
})

test('output is read while it is shown, and the end without a request for it', async ({ open, app }) => {
  const page = await open()
  await begin(page, 'start the build')
  await line(page).waitFor()
  const asked = []
  page.on('request', request => request.url().endsWith('/jobs') && asked.push(request.url()))
  await openChain(page)
  await row(page).getByText('Running in the background').waitFor()
  assert.equal(asked.length, 0, 'nothing is polled while no output is shown')
  await row(page).locator('summary').click()
  await until(
    () => asked.length,
    n => n >= 2,
    'the output is read again',
  )
  await row(page).locator('summary').click()
  await writeFile(join(app.home, 'scratch/gate'), 'go')
  await row(page).getByText('exit code 3').waitFor()
  await line(page).waitFor({ state: 'detached' })
  await row(page).locator('summary').click()
  await row(page).getByRole('log').getByText('linked').waitFor()
})

test('a command ends with the server, and its row says so', async ({ open, app }) => {
  const page = await open()
  await begin(page, 'start and restart')
  await line(page).waitFor()
  await openChain(page)
  await row(page).getByText('Running in the background').waitFor()
  await app.restart()
  await answers(page)
    .getByText(/^Ended when the server stopped/)
    .waitFor()
  await line(page).waitFor({ state: 'detached' })
})

for (const { look, small, given } of LOOKS) {
  test(`commands in the background: ${look}`, async ({ open, app }) => {
    const made = await ask(app, '/api/sessions', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ title: look, project_id: 'scratch' }),
    })
    const path = `/s/${made.id}`
    const page = await open(small ? { ...MOBILE, ...given, path } : { ...given, path })
    await page.locator('[data-composer]').fill(`look ${look}`)
    await page.locator('[data-composer]').press(small ? 'Control+Enter' : 'Enter')
    await page.getByText('It is running.').waitFor()
    await settled(page)
    await line(page).locator('summary').first().click()
    await page.locator('details.chain > summary').click()
    await page.locator('article [data-job] summary').click()
    await page.locator('article').getByRole('log').getByText('serving on 8000').waitFor()
    assert.deepEqual(await faults(page), [])
    await shot(page, `jobs-${look}`)
  })
}
