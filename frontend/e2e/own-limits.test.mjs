// Limits that a person sets for themselves: they ask before an answer goes beyond them.
import assert from 'node:assert/strict'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { shot } from './harness.mjs'

const REPLIES = [
  { match: 'title', repeat: true, steps: [{ text: 'Much' }, { finish: 'stop' }] },
  {
    match: 'how much',
    repeat: true,
    steps: [
      { text: 'This much.' },
      { usage: { prompt_tokens: 15_000, completion_tokens: 200 } },
      { finish: 'stop' },
    ],
  },
]
const test = withMiniclaw({ replies: REPLIES })

const WORDS = {
  en: {
    usage: 'Token usage',
    set: 'Set limits of your own',
    change: 'Change your limits',
    day: 'Tokens per day',
    save: 'Save',
    question: 'Your own limit is reached',
    goOn: 'Go on for this answer',
    remove: 'Remove your limits',
  },
  zh: {
    usage: '词元用量',
    set: '设置你的限额',
    change: '修改你的限额',
    day: '每日词元',
    save: '保存',
    question: '已达到你设置的限额',
    goOn: '继续此回复',
    remove: '移除你的限额',
  },
}

/** Sends a message on a page in any language. */
async function say(page, text) {
  const composer = page.locator('[data-composer]')
  await composer.fill(text)
  await composer.press('Control+Enter')
}

for (const { look, given } of LOOKS) {
  test(`a limit of one's own asks, and the answer goes on: ${look}`, async ({ open }) => {
    const words = WORDS[given.lang === 'zh' ? 'zh' : 'en']
    const page = await open(given)
    const dialog = page.getByRole('dialog', { name: words.usage })
    // What other tests used today counts too.
    const used = await page.evaluate(async () => (await (await fetch('/api/stats/tokens')).json()).data)
    const most = used.total_tokens + 20_000
    await page.keyboard.press('ControlOrMeta+k')
    await page.getByRole('combobox').fill(words.usage)
    await page.getByRole('combobox').press('Enter')
    await dialog.getByRole('button', { name: words.set }).click()
    await dialog.getByLabel(words.day).fill('many')
    await dialog.getByRole('button', { name: words.save }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog
      .getByLabel(words.day)
      .fill(`${Math.floor(most / 1000)} ${String(most % 1000).padStart(3, '0')}`)
    await shot(page, `own-limits-form-${look}`)
    assert.deepEqual(await faults(page), [])
    await dialog.getByRole('button', { name: words.save }).click()
    await dialog.getByRole('meter').waitFor()
    await shot(page, `own-limits-${look}`)
    await page.keyboard.press('Escape')

    await say(page, 'how much')
    await page.getByText('This much.').waitFor()
    await say(page, 'how much again')
    const question = page.getByRole('region', { name: words.question })
    await question.getByText(String(most - 4800)).waitFor()
    assert.deepEqual(await faults(page), [])
    await shot(page, `own-limits-question-${look}`)
    await question.getByRole('button', { name: words.goOn }).click()
    await page.getByText('This much.').nth(1).waitFor()
    await question.waitFor({ state: 'detached' })

    await say(page, 'how much more')
    await question.getByRole('button', { name: words.change }).click()
    await dialog.getByRole('button', { name: words.change }).click()
    await dialog.getByRole('button', { name: words.remove }).click()
    await dialog.getByRole('meter').waitFor({ state: 'detached' })
  })
}
