// The main screens at two sizes, in both languages and themes in turn: no accessibility violation, and a screenshot of
// each. With SHOTS or MINICLAW_THOROUGH, each screen is shown in all of them.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ask, fakeApprovals } from './fake-approvals.mjs'
import { catchStream, emit, fakeRetrieval, fakeSearch } from './fake-retrieval.mjs'
import { faults, looksOf, withMiniclaw } from './fixtures.mjs'
import { answers, MOBILE, openPage, say, settled, shot } from './harness.mjs'

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const ANSWER =
  '## Found\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n- one `code`\n- [two](https://example.com)\n\n```js\nlet x = 1\n```\n'
const REPLIES = [
  {
    match: 'look around',
    steps: [
      { thinking: 'Let me list the files.' },
      { tool_call: { id: 'c1', name: 'read_file', arguments: { path: 'memory/MEMORY.md' } } },
      { tool_call: { id: 'c2', name: 'read_file', arguments: { path: 'memory/nowhere.md' } } },
      { finish: 'tool_calls' },
    ],
  },
  { match: 'look around', steps: [{ text: ANSWER }, { finish: 'stop' }] },
]

const TESTS = `{"query": "where do I put my API key", "file": "setup-and-keys.md"}
{"query": "怎么写技能", "file": "skills.md", "heading": "没有"}
no test
`

/** With a fake embedding model, so that the screens show everything they can. */
async function withRetrieval(page, app) {
  await catchStream(page.context())
  const unreadable = [{ path: 'knowledge/scan.pdf', reason: 'Not a UTF-8 text file.', code: 'not_utf8' }]
  await fakeRetrieval(page, app, { unreadable, unembedded: chunk => chunk.lines[0] > 30 })
}
const RULE = { id: 'r1', tool: 'terminal', arguments: { command: 'make report' }, added_at: 1_790_000_000 }
async function approval(page) {
  const world = await fakeApprovals(page)
  await page.locator('textarea').fill('hello')
  await page.locator('textarea').press('Control+Enter')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  await page.waitForURL(/\/s\//)
  await ask(page, world)
  await page.locator('[data-approval]').waitFor()
}
const row = page => page.locator('[data-row]').first()
const playground = async page => {
  await row(page).waitFor()
  await page.locator('[data-row] dl').first().waitFor()
}
const trial = '/playground?query=where+do+I+put+my+API+key&folder=knowledge'
const zhTrial =
  '/playground?query=%E6%80%8E%E4%B9%88%E5%86%99%E6%8A%80%E8%83%BD&folder=knowledge&weight=0.7&k=5'
const searchBox = page => page.getByRole('searchbox').first()
const tabs = page => page.locator('#pane-play').getByRole('tab')

const test = withMiniclaw({
  replies: REPLIES,
  prepare: app => writeFile(join(app.home, 'knowledge/tests.jsonl'), TESTS),
}).extend({
  /** The path of the conversation that the deep screens show. */
  session: [
    async ({ app, browser }, use) => {
      const { page, close } = await openPage(browser, app)
      await say(page, 'look around')
      await answers(page).getByText('Found').waitFor()
      await settled(page)
      const { pathname } = new URL(page.url())
      await close()
      await use(pathname)
    },
    { scope: 'worker' },
  ],
})

/** How to reach each screen; every step waits for its content. */
const DESKTOP_SCREENS = {
  empty: { go: page => page.getByRole('listitem').first().waitFor() },
  chat: { deep: true, go: page => page.locator('[role=log] article table').waitFor() },
  editor: {
    deep: true,
    go: async page => {
      await page
        .locator('#pane-right')
        .getByRole('treeitem', { name: /MEMORY\.md/ })
        .first()
        .click()
      await page.locator('.cm-content').waitFor()
    },
  },
  passages: {
    go: async (page, app) => {
      // A conversation of its own: an existing one may be reloaded at any time, which drops made-up frames.
      await page.locator('textarea').fill('hello')
      await page.locator('textarea').press('Enter')
      await answers(page).getByText('All right.').waitFor()
      await settled(page)
      await page.waitForURL(/\/s\//)
      const query = 'where do I put my API key'
      const { hits, ...search } = await fakeSearch(app, { query, folder: 'knowledge' })
      const session_id = new URL(page.url()).pathname.split('/').pop()
      const frames = [
        { type: 'user_message', work_id: 'w', content: query, message_id: 'm' },
        { type: 'retrieval', query, results: hits, search },
        { type: 'token', content: 'Into `.env` [knowledge/setup-and-keys.md:27-40].' },
        { type: 'done', content: '', session_id, work_id: 'w', stop_reason: 'done' },
      ]
      for (const frame of frames) await emit(page, { type: 'frame', session_id, frame })
      const card = page.locator('details', { hasText: /retrieved|检索到/ }).last()
      await card.locator('summary').first().click()
      await card.locator('details summary').first().click()
      await card.locator('details summary').last().click()
      await card.locator('dl').waitFor()
    },
  },
  playground: { path: trial, ready: searchBox, go: playground },
  weighed: { path: zhTrial, ready: searchBox, go: playground },
  tests: {
    path: `${trial}&tab=tests`,
    ready: page => tabs(page).first(),
    go: async page => {
      await page.getByRole('button', { name: /^(Run|运行)$/ }).click()
      await page.locator('#pane-play dl').waitFor()
    },
  },
  index: {
    go: async page => {
      await page.locator('#pane-right').getByRole('tab').nth(3).click()
      const inspector = page.locator('#pane-right')
      await inspector.getByText(/couldn’t be read|无法读取/).click()
      await emit(page, { type: 'index', folder: 'knowledge', state: 'embedding', done: 119, total: 340 })
      await inspector.getByRole('progressbar').waitFor()
    },
  },
  approval: { go: approval },
  search: {
    deep: true,
    go: async page => {
      await page.locator('#pane-left input[type=text]').fill('look')
      await page.locator('#pane-left mark').first().waitFor()
    },
  },
  find: {
    deep: true,
    go: async page => {
      await page.locator('textarea').press('Control+f')
      await page.locator('#pane-chat [role=search] input').fill('found')
      await page.locator('[data-target]').waitFor()
    },
  },
  recovery: {
    deep: true,
    go: async page => {
      await page.locator('#pane-left [aria-haspopup=menu]').nth(1).click()
      await page.getByRole('menuitem', { name: /^Trash and|^回收站/ }).click()
      await page.getByRole('dialog').getByRole('heading').nth(2).waitFor()
    },
  },
  xray: {
    deep: true,
    go: async page => {
      await page.getByRole('button', { name: /^Prompt X-ray|提示词透视/ }).click()
      await page.getByRole('dialog').locator('summary').first().click()
      await page.getByRole('dialog').locator('pre').waitFor()
    },
  },
  'xray-answer': {
    deep: true,
    go: async page => {
      await page.locator('[role=log] article').last().hover()
      await page
        .getByRole('button', { name: /X-ray of this response|透视此回复/ })
        .last()
        .click()
      await page.getByRole('dialog').getByRole('heading').nth(1).waitFor()
      await page.getByRole('dialog').locator('summary').first().click()
      await page.getByRole('dialog').locator('pre').waitFor()
    },
  },
  connect: {
    go: async page => {
      await page.locator('#pane-left').getByRole('button', { name: /mock/ }).click()
      await page.getByRole('dialog').locator('input[type=password]').waitFor()
    },
  },
  rename: {
    go: async page => {
      await page.locator('#pane-right [aria-haspopup=menu]').first().click()
      await page.getByRole('menuitem').first().click()
      await page.getByRole('dialog').getByRole('textbox').waitFor()
    },
  },
  'file-menu': {
    go: async page => {
      await page.locator('#pane-right [aria-haspopup=menu]').first().click()
      await page.getByRole('menuitem').nth(1).waitFor()
    },
  },
  settings: {
    prepare: page => fakeApprovals(page, { rules: [RULE] }),
    go: async page => {
      await page.keyboard.press('Control+,')
      await page.getByRole('dialog').getByText('make report').waitFor()
    },
  },
  usage: {
    go: async page => {
      await page.getByRole('button', { name: /^Token usage|^词元用量/ }).click()
      await page.getByRole('dialog').getByRole('table').first().waitFor()
    },
  },
  skills: { go: page => page.locator('#pane-right').getByRole('tab').nth(1).click() },
  palette: {
    go: async page => {
      await page.keyboard.press('Control+k')
      await page.getByRole('option').first().waitFor()
    },
  },
  shortcuts: {
    go: async page => {
      await page.keyboard.press('Control+/')
      await page.getByRole('dialog').waitFor()
    },
  },
}
const bar = page => page.locator('nav').last()
const MOBILE_SCREENS = {
  approval: { go: approval },
  playground: { path: trial, ready: searchBox, go: playground },
  passage: {
    path: trial,
    ready: searchBox,
    go: async page => {
      await row(page).getByRole('button').nth(1).click()
      await page.locator('#pane-right [data-chunk]').first().waitFor()
    },
  },
  tests: {
    path: `${trial}&tab=tests`,
    ready: page => tabs(page).first(),
    go: page => page.locator('#pane-play ol').waitFor(),
  },
  chat: { deep: true, go: page => page.locator('[role=log] article').first().waitFor() },
  'xray-answer': {
    deep: true,
    go: async page => {
      await page
        .getByRole('button', { name: /X-ray of this response|透视此回复/ })
        .last()
        .click()
      await page.getByRole('dialog').getByRole('heading').nth(1).waitFor()
    },
  },
  sessions: {
    deep: true,
    go: async page => {
      await bar(page).getByRole('button').nth(0).click()
      await page.locator('#pane-left').waitFor()
    },
  },
  files: {
    deep: true,
    go: async page => {
      await bar(page).getByRole('button').nth(2).click()
      await page
        .locator('#pane-right')
        .getByRole('treeitem', { name: /MEMORY\.md/ })
        .first()
        .click()
      await page.locator('.cm-content').waitFor()
    },
  },
}

/** Both themes and both languages; every pair of them when screenshots are taken. */
const PAIRS = [
  ['light', 'en'],
  ['dark', 'zh'],
  ...(process.env.SHOTS
    ? [
        ['light', 'zh'],
        ['dark', 'en'],
      ]
    : []),
]

// The screens are independent of each other, and there are many: the workers share them.
test.describe.configure({ mode: 'parallel' })
for (const [size, screens, options] of [
  ['desktop', DESKTOP_SCREENS, {}],
  ['mobile', MOBILE_SCREENS, MOBILE],
]) {
  for (const [n, [name, screen]] of Object.entries(screens).entries()) {
    const { deep, path = deep ? null : '/', ready, prepare, go } = screen
    for (const [theme, lang] of looksOf(n, PAIRS)) {
      test(`${name}, ${size}, ${theme}, ${lang}`, async ({ app, open, session }) => {
        const page = await open({
          path: path ?? session,
          theme,
          lang,
          prepare: async page => {
            await withRetrieval(page, app)
            await prepare?.(page)
          },
          ...(ready && { ready }),
          ...options,
        })
        await go(page, app)
        await page.evaluate(() =>
          Promise.all(
            document
              .getAnimations()
              .filter(a => a.effect.getTiming().iterations === 1)
              // An animation that is cancelled, because its element is gone, is over too.
              .map(a => a.finished.catch(() => {})),
          ),
        )
        await shot(page, `${name}-${size}-${theme}-${lang}`)
        assert.deepEqual(await faults(page, { runOnly: TAGS }), [])
      })
    }
  }
}
