// A walk through the page with the keyboard alone: what a person presses, and where the focus is. Each task is a test of
// its own on one page, and may press only a few more keys than docs/keyboard-walk.md says.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { withMiniclaw } from './fixtures.mjs'
import { openPage, until } from './harness.mjs'

/** More key presses than documented that are allowed: one more button on the way is no fault. */
const SPARE = 3

/** The cells of the row of a task in the table of a document. */
async function rowOf(number, document) {
  const text = await readFile(new URL(`../../docs/${document}.md`, import.meta.url), 'utf8')
  const row = text.split('\n').find(line => line.startsWith(`| ${number} |`)) ?? ''
  return row.split('|').map(cell => cell.trim())
}

/** What the documents say of a task: its title and its key presses. */
async function documented(number) {
  const [, , title, , , keys, clicks] = await rowOf(number, 'keyboard-walk')
  const [, , sameTitle, sameClicks, , sameKeys] = await rowOf(number, 'clicks')
  assert.deepEqual([sameTitle, sameKeys, sameClicks], [title, keys, clicks], 'both tables say the same')
  return { title, keys: Number(keys) }
}

/** What has the focus, in words. */
const focused = page =>
  page.evaluate(() => {
    const element = document.activeElement
    const name = element.getAttribute('aria-label') ?? element.textContent.trim().slice(0, 60)
    return `${element.getAttribute('role') ?? element.tagName.toLowerCase()} “${name}”`
  })

/** The elements of that role and name. A summary has no role of its own. */
const elements = (page, role, name) =>
  role === 'summary'
    ? page.locator('summary').filter({ hasText: name })
    : page.getByRole(role, typeof name === 'string' ? { name, exact: true } : { name })

const hasFocus = (page, role, name) =>
  elements(page, role, name).evaluateAll(all => all.includes(document.activeElement))

/** A person at the keyboard of a page of this miniclaw, with nothing else. */
export function person(page, app) {
  let pressed = 0
  const press = async (...keys) => {
    for (const key of keys) {
      await page.keyboard.press(key)
      pressed += 1
      // Nobody presses two keys in one frame; some menus move their focus after it.
      await page.evaluate(() => new Promise(done => requestAnimationFrame(() => setTimeout(done))))
    }
  }
  return {
    page,
    app,
    press,
    /** Text to write; its keys are not counted. */
    type: text => page.keyboard.type(text),
    /** Fails unless the element with this role and name has the focus. */
    isAt: (role, name) =>
      until(
        async () => ((await hasFocus(page, role, name)) ? null : focused(page)),
        other => other === null,
        `the focus on the ${role} ${name}`,
      ),
    /** Presses a key, mostly Tab, until the element has the focus. */
    async to(role, name, { key = 'Tab', most = 15 } = {}) {
      const passed = []
      while (passed.length < most) {
        await press(key)
        if (await hasFocus(page, role, name)) return
        passed.push(await focused(page))
      }
      assert.fail(`${most} × ${key} do not lead to the ${role} ${name}, but past\n${passed.join('\n')}`)
    },
    pressed: () => pressed,
  }
}

/** A miniclaw of its own, and one page for all tests of a file, which go on where the one before ended. */
export function walkThrough(given) {
  const test = withMiniclaw(given).extend({
    walker: [
      async ({ app, browser }, use) => {
        const { page, close } = await openPage(browser, app, {
          permissions: ['clipboard-read', 'clipboard-write'],
        })
        // A key that moves between the panes needs them.
        await page.getByRole('navigation', { name: 'Conversations' }).waitFor()
        await use(page)
        await close()
      },
      { scope: 'worker', timeout: 60_000 },
    ],
  })
  test.describe.configure({ mode: 'serial' })
  return (number, title, walk) =>
    test(`${number}. ${title}`, async ({ app, walker }) => {
      const human = person(walker, app)
      await walk(human)
      const { title: written, keys } = await documented(number)
      assert.equal(written, title, 'the task is in the document')
      const pressed = human.pressed()
      assert.ok(pressed <= keys + SPARE, `${pressed} keys, and the document says ${keys}`)
    })
}
