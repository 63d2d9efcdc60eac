// The usage of models: chart, table, limits and CSV, from the server's own log.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, composer, say, settled, shot } from './harness.mjs'

const CONFIG =
  'prices: {mock: {input: 500, output: 2000}}\n' + 'limits: {day: {tokens: 20000}, month: {cost: 900}}\n'
const REPLIES = [
  {
    match: 'how much',
    repeat: true,
    steps: [
      { text: 'This much.' },
      { usage: { prompt_tokens: 15000, completion_tokens: 200 } },
      { finish: 'stop' },
    ],
  },
]
const DAY = 86_400

/** Works of the last 29 days with two models; nobody knows the price of one. */
function works() {
  const now = Math.floor(Date.now() / 1000)
  return Array.from({ length: 29 }, (_, n) => {
    const input = 20_000 + ((n * 7919) % 23) * 1500
    const known = n % 3 !== 0
    const at = now - (n + 1) * DAY
    return {
      work_id: `w${n}`,
      created_at: at,
      finished_at: at + 9,
      model: known ? 'deepseek-chat' : 'qwen3-coder',
      dialogues: 1,
      ...(n % 2 === 0 && { project_id: 'scratch' }),
      usage: {
        input_tokens: input,
        output_tokens: Math.round(input / 3),
        cached_tokens: Math.round(input * 0.6),
        thinking_tokens: n * 10,
        ...(known && {
          cost: { nanos: input * 400, currency: 'USD' },
          priced_tokens: input + Math.round(input / 3),
        }),
      },
      outcome: { stop_reason: 'done' },
    }
  })
}
const SESSION = { title: 'Invoices', created_at: 1, updated_at: 1, messages: [] }

const test = withMiniclaw({
  config: CONFIG,
  replies: REPLIES,
  prepare: app =>
    app.restart(() =>
      writeFile(join(app.home, 'sessions/earlier.json'), JSON.stringify({ ...SESSION, works: works() })),
    ),
})
const dialog = page => page.getByRole('dialog', { name: /^(Token usage|词元用量)$/ })

async function openUsage(page) {
  await page.keyboard.press('ControlOrMeta+k')
  await page
    .getByRole('combobox')
    .fill(
      (await page.evaluate(() => document.documentElement.lang)).startsWith('zh')
        ? '词元用量'
        : 'Token usage',
    )
  await page.getByRole('combobox').press('Enter')
  await dialog(page).getByRole('table').waitFor()
  return dialog(page)
}
const row = (shown, name) => shown.getByRole('row', { name })

for (const { look, given } of LOOKS) {
  test(`the usage: ${look}`, async ({ open }) => {
    const page = await open(given)
    const shown = await openUsage(page)
    const zh = given.lang === 'zh'
    assert.equal(await shown.getByRole('slider').getAttribute('aria-valuemax'), '29')
    assert.deepEqual(await faults(page), [])
    await shot(page, `usage-${look}`)
    await shown.getByRole('button', { name: zh ? '按模型' : 'By model' }).click()
    await row(shown, /qwen3-coder.*(Unknown|未知)/).waitFor()
    await row(shown, /deepseek-chat.*\$/).waitFor()
    // Nothing of the dialog is wider than the screen; only the table scrolls.
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(wide <= 0, `${wide} px too wide`)
    assert.deepEqual(await faults(page), [])
    await shot(page, `usage-model-${look}`)
  })
}

test('the usage is shown by period and project and downloaded as CSV, by keyboard', async ({ open }) => {
  const page = await open()
  const shown = await openUsage(page)
  await shown.getByRole('button', { name: 'Weeks' }).focus()
  await page.keyboard.press('Enter')
  const chart = shown.getByRole('slider', { name: 'Tokens over time' })
  await page.waitForFunction(() => document.querySelector('[role=slider]')?.ariaValueMax === '11')
  await chart.focus()
  const last = await chart.getAttribute('aria-valuetext')
  assert.match(last, /Input [\d,]+, Output [\d,]+, Cached input [\d,]+/)
  await page.keyboard.press('ArrowLeft')
  assert.equal(await chart.getAttribute('aria-valuenow'), '10')
  await page.keyboard.press('Home')
  assert.match(await chart.getAttribute('aria-valuetext'), /Input 0, Output 0, Cached input 0/)
  await page.keyboard.press('End')
  assert.equal(await chart.getAttribute('aria-valuetext'), last)

  await shown.getByRole('button', { name: 'By project' }).click()
  await row(shown, /^scratch/).waitFor()
  await row(shown, /^No project/).waitFor()
  await shown.getByRole('button', { name: 'Months' }).click()
  await page.waitForFunction(() => document.querySelector('[role=slider]')?.ariaValueMax === '11')

  await shown.getByRole('button', { name: 'Days' }).click()
  const saved = page.waitForEvent('download')
  await shown.getByRole('button', { name: 'Download CSV' }).click()
  const file = await saved
  assert.match(file.suggestedFilename(), /^tokens-daily-\d{4}-\d\d-\d\d\.csv$/)
  const lines = (await readFile(await file.path(), 'utf8')).trim().split('\r\n')
  assert.match(lines[0], /^date,model,project_id,works,.*,cost_USD$/)
  assert.equal(lines.length, 30)
  await page.keyboard.press('Escape')
  await dialog(page).waitFor({ state: 'detached' })
})

test('an answer counts at once, and a limit refuses the next one and says what to do', async ({ open }) => {
  const page = await open()
  await say(page, 'how much')
  await answers(page).getByText('This much.').waitFor()
  await settled(page)
  const shown = await openUsage(page)
  await shown.getByText('Tokens: 15,200 of 20,000').waitFor()
  await shown.getByText('$7.90 of $900.00').waitFor()
  await shown.getByRole('button', { name: 'By model' }).click()
  await row(shown, /^mock 1 15,000 0 200 0 \$7\.90$/).waitFor()
  await page.keyboard.press('Escape')
  await composer(page).waitFor()
  await say(page, 'again')
  await page
    .getByText(/limits\.day\.tokens in config\.yml/)
    .first()
    .waitFor()
  assert.deepEqual(await faults(page), [])
  await shot(page, 'usage-limit')
})

test('a refused answer is explained in Chinese', async ({ open }) => {
  const page = await open({ lang: 'zh', theme: 'dark' })
  await page.locator('[data-composer]').fill('again')
  await page.locator('[data-composer]').press('Control+Enter')
  await page
    .getByText(/此请求会超出服务器的每日限额（20000 词元）.*limits\.day\.tokens/)
    .first()
    .waitFor()
  assert.deepEqual(await faults(page), [])
})
