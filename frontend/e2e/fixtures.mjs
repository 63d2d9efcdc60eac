// What a file of tests stands on: a miniclaw and a browser for all of them, pages that keep watch, the look for faults
// of accessibility.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { test as base } from '@playwright/test'
import { startCanary } from './canary.mjs'
import { MOBILE, openPage, startMiniclaw } from './harness.mjs'

const test = base.extend({
  /** What `startMiniclaw` takes, and `prepare`, which puts things into the home before the first test. */
  given: [{}, { scope: 'worker', option: true }],

  /** The miniclaw of this file: the same in every test of it. */
  app: [
    async ({ given: { prepare, ...given } }, use) => {
      const app = await startMiniclaw(given)
      try {
        await prepare?.(app)
        await use(app)
      } finally {
        await app.stop()
      }
    },
    { scope: 'worker', timeout: 60_000 },
  ],

  /** A listener at which nobody may come by; tests that ask for it may speak of its address. */
  canary: [
    // Playwright reads the names of the other fixtures from this pattern; it needs none of them.
    // biome-ignore lint/correctness/noEmptyPattern: see above
    async ({}, use) => {
      const canary = await startCanary()
      await use(canary)
      canary.close()
    },
    { scope: 'worker' },
  ],

  /** Opens a page with what `openPage` takes; after the test it is closed, and may have had no faults. */
  open: async ({ app, browser }, use) => {
    const opened = []
    const open = async given => {
      const { page, close } = await openPage(browser, app, given)
      opened.push(close)
      return page
    }
    open.end = async () => {
      for (const close of opened) await close()
    }
    await use(open)
  },
})

function withGiven(given) {
  const own = test.extend({ given: [given, { scope: 'worker' }] })
  // Not when `open` is torn down: traces are kept of what failed before that.
  own.afterEach(({ open }) => open.end())
  return own
}

/** Tests with a miniclaw that is `given` something, and is no other file's. */
export const withMiniclaw = (given = {}) => withGiven(given)

/** The same, where what is given is `made` of the listener. */
export const withCanary = made => withGiven(({ canary }, use) => use(made(canary)))

/** Two sizes in two looks each: what `open` takes, whether it is small, and a name for the test and its picture. */
export const LOOKS = [
  ['desktop', {}],
  ['mobile', MOBILE],
].flatMap(([size, options]) =>
  [
    ['light', 'en'],
    ['dark', 'zh'],
  ].map(([theme, lang]) => ({
    look: `${size}-${theme}-${lang}`,
    small: size === 'mobile',
    given: { theme, lang, ...options },
  })),
)

let axe = null

/** What is wrong with the page for those who do not see it, a line each. */
export async function faults(page, options = {}) {
  axe ??= await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  await page.evaluate(axe)
  const { violations } = await page.evaluate(given => window.axe.run(document, given), options)
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(node => node.target).join(', ')}`)
}
