// The fixtures of every test file: a miniclaw and a browser shared by its tests, pages that watch for faults, and the
// check for accessibility violations.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { test as base } from '@playwright/test'
import { startCanary } from './canary.mjs'
import { finishAnimations, MOBILE, openPage, startMiniclaw } from './harness.mjs'

const test = base.extend({
  /** The options of `startMiniclaw`, and `prepare`, which fills the home before the first test. */
  given: [{}, { scope: 'worker', option: true }],

  /** The miniclaw of this file, shared by all its tests. */
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

  /** A listener that must never receive a request; tests that use it may mention its address. */
  canary: [
    // Playwright reads the names of the other fixtures from this pattern; this one needs none of them.
    // biome-ignore lint/correctness/noEmptyPattern: see above
    async ({}, use) => {
      const canary = await startCanary()
      await use(canary)
      canary.close()
    },
    { scope: 'worker' },
  ],

  /** Opens a page with the options of `openPage`; closes it after the test, and fails if it had faults. */
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
  // Not in the teardown of `open`: traces are kept only for failures before that.
  own.afterEach(({ open }) => open.end())
  return own
}

/** Tests with a miniclaw of their own, started with the options `given`. */
export const withMiniclaw = (given = {}) => withGiven(given)

/** The same, with the options made from the listener. */
export const withCanary = made => withGiven(({ canary }, use) => use(made(canary)))

const ALL_LOOKS = [
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

/** Whether the tests of all surfaces show each of them in every look, and not in one of them in turn. */
export const EVERY_LOOK = Boolean(process.env.SHOTS || process.env.MINICLAW_THOROUGH)

/** The looks in which the surface with this number is shown. */
export const looksOf = (number, looks) => (EVERY_LOOK ? looks : [looks[number % looks.length]])

/**
 * The look that differs most from that of the other tests, which is the first one: small, dark and Chinese. With
 * MINICLAW_THOROUGH the first one, too, and all four when screenshots are taken. Each look has the options of `open`,
 * whether the screen is small, and a name for the test and its screenshot.
 */
export const LOOKS = process.env.SHOTS
  ? ALL_LOOKS
  : process.env.MINICLAW_THOROUGH
    ? [ALL_LOOKS[0], ALL_LOOKS[3]]
    : [ALL_LOOKS[3]]

let axe = null

/** The accessibility violations of the page, one per line. */
export async function faults(page, options = {}) {
  axe ??= await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  // A page that is checked again has it already; reading it takes as long as many a check.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
  // Colours are final only then.
  await finishAnimations(page)
  const { violations } = await page.evaluate(given => window.axe.run(document, given), {
    // Of what passes, no selectors are made.
    resultTypes: ['violations'],
    ...options,
  })
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(node => node.target).join(', ')}`)
}
