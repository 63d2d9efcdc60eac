// Why a run failed, in the language of the page, also where the words are those of the system or of a library.

import { withMiniclaw } from './fixtures.mjs'
import { answers } from './harness.mjs'

const call = n => [
  { tool_call: { id: `c${n}`, name: 'read_file', arguments: { path: `memory/${n}.md` } } },
  { finish: 'tool_calls' },
]
const test = withMiniclaw({
  replies: [
    { match: 'break off', steps: [{ text: 'Begun. ' }, { close: true }] },
    { match: 'look twice', steps: call(1) },
    { match: 'look twice', steps: call(2) },
  ],
  config: 'max_iterations: 2\n',
})

async function ask(page, words) {
  const box = page.getByRole('textbox', { name: '消息', exact: true })
  await box.fill(words)
  await box.press('Enter')
}

test('a broken connection and a limit are explained in Chinese', async ({ open }) => {
  const page = await open({ lang: 'zh' })
  await ask(page, 'break off')
  await answers(page)
    .getByText(/的回复已中断（[^A-Za-z]+）/)
    .waitFor()
  await ask(page, 'look twice')
  await answers(page).getByText('已调用模型 2 次（max_iterations）').waitFor()
})
