// No accessibility violation on the main surfaces of a phone and of a desk; with SHOTS or MINICLAW_THOROUGH, at six widths
// and in two looks. Two more tests cover what has a page of its own. `screens.test.mjs` looks at more surfaces at two sizes.
import assert from 'node:assert/strict'
import { EVERY_LOOK, faults, looksOf, withMiniclaw } from './fixtures.mjs'
import { openApproval, openConversation, openSignIn, prepare, SURFACES, still } from './surfaces.mjs'

const test = withMiniclaw({ prepare })
test.describe.configure({ mode: 'parallel' })

const SIZES = [
  [320, 568],
  [390, 844],
  [768, 1024],
  [1024, 768],
  [1440, 900],
  [2560, 1440],
]
/** Each takes most of a minute. */
const TRIED = SIZES.filter(([width]) => EVERY_LOOK || width === 390 || width === 1440)
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const LOOKS = [
  { theme: 'light', lang: 'en' },
  { theme: 'dark', lang: 'zh' },
]

async function check(page, name) {
  await still(page)
  const found = await faults(page, { runOnly: TAGS })
  const { width } = page.viewportSize()
  return found.map(fault => `${name} at ${width} px: ${fault}`)
}

for (const look of LOOKS) {
  test(`an approval and the sign-in have no violation: ${look.theme}, ${look.lang}`, async ({ open }) => {
    const found = []
    for (const [name, show] of [
      ['approval', openApproval],
      ['sign-in', openSignIn],
    ]) {
      const page = await show(open, look)
      for (const [width, height] of TRIED) {
        await page.setViewportSize({ width, height })
        found.push(...(await check(page, name)))
      }
    }
    assert.deepEqual(found, [])
  })
}

for (const size of TRIED) {
  const [width, height] = size
  for (const look of looksOf(SIZES.indexOf(size), LOOKS))
    test(`no surface has a violation at ${width} px: ${look.theme}, ${look.lang}`, async ({ open }) => {
      const page = await openConversation(open, { ...look, viewport: { width, height } })
      const found = []
      for (const [name, show] of Object.entries(SURFACES)) {
        const close = await show(page)
        found.push(...(await check(page, name)))
        await close()
      }
      assert.deepEqual(found, [])
    })
}
