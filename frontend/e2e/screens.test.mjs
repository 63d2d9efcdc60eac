// The main screens in both languages, both themes and two sizes: no accessibility fault, and a picture of each.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { answers, MOBILE, openPage, say, settled, shot, startBrowser, startMiniclaw } from './harness.mjs'

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

let app
let browser
let axe
let session
before(async () => {
  axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  app = await startMiniclaw(REPLIES)
  browser = await startBrowser()
  const { page, close } = await openPage(browser, app)
  await say(page, 'look around')
  await answers(page).getByText('Found').waitFor()
  await settled(page)
  session = new URL(page.url()).pathname
  await close()
})
after(async () => {
  await browser?.close()
  await app?.stop()
})

async function faultsOf(page) {
  await page.evaluate(axe)
  const { violations } = await page.evaluate(tags => window.axe.run(document, { runOnly: tags }), TAGS)
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(node => node.target).join(', ')}`)
}

/** How to get to each screen; every step waits for what it shows. */
const DESKTOP_SCREENS = {
  empty: { go: page => page.getByRole('listitem').first().waitFor() },
  chat: { deep: true, go: page => page.locator('[role=log] article table').waitFor() },
  editor: {
    deep: true,
    go: async page => {
      await page
        .locator('#pane-right')
        .getByRole('button', { name: /MEMORY\.md/ })
        .first()
        .click()
      await page.locator('.cm-content').waitFor()
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
  chat: { deep: true, go: page => page.locator('[role=log] article').first().waitFor() },
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
        .getByRole('button', { name: /MEMORY\.md/ })
        .first()
        .click()
      await page.locator('.cm-content').waitFor()
    },
  },
}

for (const [size, screens, options] of [
  ['desktop', DESKTOP_SCREENS, {}],
  ['mobile', MOBILE_SCREENS, MOBILE],
]) {
  for (const theme of ['light', 'dark']) {
    for (const lang of ['en', 'zh']) {
      for (const [name, { deep, go }] of Object.entries(screens)) {
        test(`${name}, ${size}, ${theme}, ${lang}`, async () => {
          const path = deep ? session : '/'
          const { page, close } = await openPage(browser, app, { path, theme, lang, ...options })
          await go(page)
          await page.evaluate(() =>
            Promise.all(
              document
                .getAnimations()
                .filter(a => a.effect.getTiming().iterations === 1)
                // One that is cancelled, because its element went, is over too.
                .map(a => a.finished.catch(() => {})),
            ),
          )
          await shot(page, `${name}-${size}-${theme}-${lang}`)
          assert.deepEqual(await faultsOf(page), [])
          await close()
        })
      }
    }
  }
}
