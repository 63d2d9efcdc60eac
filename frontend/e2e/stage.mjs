// What a file of tests stands on: a miniclaw and a browser for all of them, and the look for faults of accessibility.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { after, before } from 'node:test'
import { MOBILE, startBrowser, startMiniclaw } from './harness.mjs'

/** `app` and `browser` are there in every test of the file; `given` is what `startMiniclaw` takes. */
export function stage(...given) {
  const world = { app: null, browser: null }
  before(async () => {
    world.app = await startMiniclaw(...given)
    world.browser = await startBrowser()
  })
  after(async () => {
    await world.browser?.close()
    await world.app?.stop()
  })
  return world
}

/** Two sizes in two looks each: what `openPage` takes, whether it is small, and a name for the test and its picture. */
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
