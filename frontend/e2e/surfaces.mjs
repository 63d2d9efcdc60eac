// The main surfaces of the page, opened in the same way at every width and in both languages. Each function returns the
// one that closes the surface again.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ask as askApproval, fakeApprovals } from './fake-approvals.mjs'
import { catchStream } from './fake-retrieval.mjs'
import { answers, ask, settled, until } from './harness.mjs'

const ANSWER = `## Found

It is in memory/MEMORY.md:1, and a long line explains what it is and why it matters, at every width of the window.

| name | size |
|---|--:|
| one | 2 |

- one \`code\`
- [two](https://example.com)

\`\`\`js
const port = 8002
\`\`\`
`
const SAID = [
  'Look around',
  ANSWER,
  'Which database?',
  'Readable files.',
  'And then?',
  ANSWER,
  'Good',
  ANSWER,
]
const CONVERSATION = JSON.stringify({
  title: 'The server',
  created_at: 1,
  updated_at: Date.now() / 1000,
  messages: SAID.map((content, n) => ({
    role: n % 2 ? 'assistant' : 'user',
    content,
    id: `m${n}`,
    work_id: `w${n - (n % 2)}`,
  })),
})

/** Puts the conversation that the surfaces show into the home, and uses some tokens. */
export async function prepare(app) {
  await writeFile(join(app.home, 'sessions/long.json'), CONVERSATION)
  const post = (path, body) =>
    ask(app, path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const { id } = await post('/api/sessions', {})
  await post(`/api/sessions/${id}/messages`, { message: 'hello' })
  await until(
    () => ask(app, '/api/stats/tokens'),
    usage => JSON.stringify(usage).includes('"mock"'),
    'the usage',
  )
}

const narrow = page => page.viewportSize().width < 768
/** Shows one of the three panes of a narrow screen. */
const showPane = async (page, n) => {
  if (narrow(page)) await page.locator('nav').last().getByRole('button').nth(n).click()
}
const dialog = page => page.getByRole('dialog')
const closeDialog = async page => {
  await page.keyboard.press('Escape')
  await dialog(page).waitFor({ state: 'detached' })
}

/** Opens a dialog by its command. */
const opens = (en, zh, content) => async page => {
  const lang = await page.evaluate(() => document.documentElement.lang)
  await page.keyboard.press('ControlOrMeta+k')
  await page.getByRole('combobox').fill(lang.startsWith('zh') ? zh : en)
  await page.getByRole('combobox').press('Enter')
  await content(dialog(page)).first().waitFor()
  return () => closeDialog(page)
}

export const SURFACES = {
  chat: async page => {
    await page.locator('[role=log] article').first().waitFor()
    return async () => {}
  },
  conversations: async page => {
    await showPane(page, 0)
    await page.locator('#pane-left #status-area').waitFor()
    return () => showPane(page, 1)
  },
  file: async page => {
    await showPane(page, 2)
    const { width } = page.viewportSize()
    const sheet = width >= 768 && width < 1200
    if (sheet) await page.locator('#toggle-inspector').click()
    await page
      .locator('#pane-right')
      .getByRole('treeitem', { name: /MEMORY\.md/ })
      .first()
      .click()
    await page.locator('#pane-right .cm-content').waitFor()
    return () => (sheet ? closeDialog(page) : showPane(page, 1))
  },
  palette: async page => {
    await page.keyboard.press('ControlOrMeta+k')
    await page.getByRole('option').first().waitFor()
    return () => closeDialog(page)
  },
  settings: opens('Settings', '设置', found => found.getByRole('switch')),
  usage: opens('Token usage', '词元用量', found => found.getByRole('table')),
  xray: opens('Prompt X-ray', '提示词透视', found => found.locator('summary')),
  changes: opens('Changes', '更改', found => found.getByRole('status')),
  conversation: opens('This conversation', '此对话', found => found.locator('[data-field]')),
  projects: opens('Manage projects', '管理项目', found => found.getByRole('button').nth(1)),
  'new project': opens('New project', '新建项目', found => found.locator('[data-field]')),
  newSkill: opens('New skill', '新建技能', found => found.getByRole('textbox')),
  compact: opens('Compact conversation', '压缩对话', found => found.getByRole('list')),
}

/** A page with the conversation. */
export async function openConversation(open, given) {
  const page = await open({ path: '/s/long', ...given })
  await answers(page).first().waitFor()
  return page
}

/** A page with a pending call. */
export async function openApproval(open, given) {
  const world = {}
  const page = await open({
    ...given,
    prepare: async page => {
      await catchStream(page.context())
      await fakeApprovals(page, world)
    },
  })
  await page.locator('[data-composer]').fill('hello')
  await page.locator('[data-composer]').press('Control+Enter')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  await page.waitForURL(/\/s\//)
  await askApproval(page, world)
  await page.locator('[data-approval]').waitFor()
  return page
}

/** A page whose session has ended. */
export async function openSignIn(open, given) {
  const page = await open(given)
  await page.route('**/api/**', route =>
    route.fulfill({ status: 401, json: { code: 'unauthorized', message: 'sign in' } }),
  )
  await page.evaluate(() => void window.dispatchEvent(new Event('online')))
  await page.locator('input[type=password]').waitFor()
  return page
}

/** Finishes the animations of what opens or appears. */
export const still = page =>
  page.evaluate(() => {
    for (const animation of document.getAnimations())
      if (animation.effect.getTiming().iterations === 1) animation.finish()
  })

const opensMenu = trigger => async page => {
  await trigger(page).first().click()
  await page.getByRole('menuitem').first().waitFor()
  return async () => {
    await page.keyboard.press('Escape')
    await page.getByRole('menuitem').first().waitFor({ state: 'detached' })
  }
}

/** Less important surfaces. */
export const MORE = {
  recovery: opens('Trash and recovery', '回收站', found => found.getByRole('heading').nth(1)),
  shortcuts: opens('Keyboard shortcuts', '键盘快捷键', found => found.locator('kbd')),
  model: opens('Connect a model', '连接模型', found => found.locator('input')),
  find: async page => {
    await page.locator('[data-composer]').press('ControlOrMeta+f')
    await page.locator('#pane-chat [role=search] input').fill('Found')
    await page.locator('[data-target]').waitFor()
    return () => page.keyboard.press('Escape')
  },
  edit: async page => {
    await page
      .getByRole('button', { name: /^(Edit|编辑)/ })
      .last()
      .click()
    await page.locator('[role=log] textarea').waitFor()
    return () => page.keyboard.press('Escape')
  },
  'model menu': async page => {
    await page.locator('#pane-chat form [aria-haspopup=menu]').first().click()
    await page.locator('[role^=menuitem]').first().waitFor()
    return () => page.keyboard.press('Escape')
  },
  'conversation menu': async page => {
    await showPane(page, 0)
    const close = await opensMenu(page => page.locator('#pane-left .scroll [aria-haspopup=menu]'))(page)
    return async () => {
      await close()
      await showPane(page, 1)
    }
  },
  selection: async page => {
    await showPane(page, 0)
    await opensMenu(page => page.getByRole('button', { name: /^(More|更多)/ }))(page)
    await page.getByRole('menuitem').nth(1).click()
    await page.locator('#pane-left input[type=checkbox]').first().waitFor()
    return async () => {
      await page.keyboard.press('Escape')
      await showPane(page, 1)
    }
  },
}
