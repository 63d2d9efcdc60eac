// Approval cards of calls that change several files or run several commands.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { MOBILE, shot } from './harness.mjs'

const call = (id, name, args) => [{ tool_call: { id, name, arguments: args } }, { finish: 'tool_calls' }]
const CREATED = {
  items: [
    { path: 'a.txt', content: 'new a\n' },
    { path: 'b.txt', content: 'new b\n' },
  ],
}
const COMMANDS = { commands: [{ instruction: 'ls' }, { instruction: 'pwd', working_directory: '/sub' }] }
const REPLIES = LOOKS.flatMap(({ look }) => [
  { match: `ask ${look}`, steps: call(`${look}1`, 'create_file', CREATED) },
  { match: `ask ${look}`, steps: call(`${look}2`, 'delete_file', { paths: ['x.txt', 'y.txt'] }) },
  { match: `ask ${look}`, steps: call(`${look}3`, 'bash', COMMANDS) },
  { match: `ask ${look}`, steps: [{ text: 'Nothing was done.' }, { finish: 'stop' }] },
])
const test = withMiniclaw({
  replies: REPLIES,
  config: 'approvals: {effects: {write: ask, execute: ask}}\n',
  prepare: async app => {
    for (const name of ['x', 'y']) await writeFile(join(app.home, `scratch/${name}.txt`), `-- ${name}\n`)
  },
})

const WORDS = {
  en: { titles: ['Create 2 files', 'Delete 2 files', 'Run 2 commands'], created: 'Create', deny: /^Deny/ },
  zh: { titles: ['新建 2 个文件', '删除 2 个文件', '运行 2 条命令'], created: '新建', deny: /^拒绝\d?$/ },
}

for (const { look, small, given } of LOOKS) {
  test(`several files and commands wait for approval: ${look}`, async ({ open }) => {
    const page = await open(small ? { ...MOBILE, ...given } : given)
    const { titles, created, deny } = WORDS[given.lang]
    await page.getByRole('button', { name: /^(Works in: |工作位置：)/ }).click()
    await page.getByRole('option', { name: /^scratch/ }).click()
    await page.locator('[data-composer]').fill(`ask ${look}`)
    await page.locator('[data-composer]').press(small ? 'Control+Enter' : 'Enter')
    for (const [i, title] of titles.entries()) {
      const card = page.getByRole('group', { name: title })
      await card.getByRole('heading', { name: title }).waitFor()
      if (i === 0) {
        await card.getByText('create /a.txt (+1 line)').waitFor()
        for (const name of ['a', 'b']) {
          await card.getByText(`${created} scratch/${name}.txt`, { exact: true }).waitFor()
          await card.getByText(`new ${name}`).waitFor()
        }
      } else if (i === 1) {
        // A removed line that looks like the name of a file is shown as removed.
        for (const name of ['x', 'y']) await card.getByText(`-- ${name}`, { exact: true }).waitFor()
      } else await card.getByText('cd sub && pwd').waitFor()
      assert.deepEqual(await faults(page), [])
      await shot(page, `project-approval-${i}-${look}`)
      await card.getByRole('button', { name: deny }).first().click()
    }
    await page.getByText('Nothing was done.').waitFor()
  })
}
