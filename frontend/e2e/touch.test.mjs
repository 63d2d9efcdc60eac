// On a touch screen every control is at least 44 by 44 px (WCAG 2.5.5), no field has text below 16 px, because a phone
// would zoom into it, and nothing is wider than the screen. With SHOTS or MINICLAW_THOROUGH, on three screens.
import assert from 'node:assert/strict'
import { EVERY_LOOK, withMiniclaw } from './fixtures.mjs'
import { MORE, openApproval, openConversation, openSignIn, prepare, SURFACES, still } from './surfaces.mjs'

const test = withMiniclaw({ prepare })

const SMALLEST = 44
const CONTROLS =
  'button, summary, select, input:not([type=hidden], [type=file]), textarea, a[href], [role=tab], [role^=menuitem], [role=treeitem], [role=option], [role=switch], [role=checkbox], [role=radio]'

/** The controls whose target is smaller than it has to be, one per line: its size, its name and its place. */
const small = page =>
  page.evaluate(
    ([controls, smallest]) => {
      /** The box of an element together with what extends it: its `::after`, or the label around a checkbox. */
      const target = element => {
        const label = element.matches('input') ? element.closest('label') : null
        const box = (label ?? element).getBoundingClientRect()
        const after = getComputedStyle(element, '::after')
        if (after.content === 'none' || after.position !== 'absolute') return box
        return {
          width: Math.max(box.width, Number.parseFloat(after.width)),
          height: Math.max(box.height, Number.parseFloat(after.height)),
        }
      }
      /** A link or button in a line of text is as high as the text (2.5.5, exception “inline”). */
      const inText = element =>
        getComputedStyle(element).display === 'inline' &&
        element.closest('p, li, td, dd, label, .md') !== null
      return [...document.querySelectorAll(controls)]
        .filter(element => element.checkVisibility({ opacityProperty: false, visibilityProperty: true }))
        .filter(element => !element.closest('[aria-hidden=true], .sr-only, .cm-editor') && !inText(element))
        .filter(element => element.getBoundingClientRect().width > 1)
        .map(element => ({ element, ...(({ width, height }) => ({ width, height }))(target(element)) }))
        .filter(({ width, height }) => width < smallest - 0.5 || height < smallest - 0.5)
        .map(({ element, width, height }) => {
          const name = element.getAttribute('aria-label') ?? element.textContent.trim().slice(0, 30)
          const place = element.closest('[id], [role=dialog], [role=log]')
          return `${Math.round(width)}×${Math.round(height)} ${element.tagName} “${name}” in ${place?.id || place?.getAttribute('role')} .${element.className.slice?.(0, 60)}`
        })
    },
    [CONTROLS, SMALLEST],
  )

const tooWide = page =>
  page.evaluate(() =>
    document.documentElement.scrollWidth > innerWidth
      ? [`${document.documentElement.scrollWidth} px wide`]
      : [],
  )

/** The fields that a phone would zoom into. */
const zoomed = page =>
  page.evaluate(() =>
    [
      ...document.querySelectorAll(
        'input:not([type=checkbox], [type=radio], [type=range], [type=file]), select, textarea',
      ),
    ]
      .filter(field => field.checkVisibility({ visibilityProperty: true }))
      .map(field => [field, Number.parseFloat(getComputedStyle(field).fontSize)])
      .filter(([, size]) => size < 16)
      .map(([field, size]) => `text of ${size} px in “${field.getAttribute('aria-label') ?? field.id}”`),
  )

const check = async (page, name) => {
  await still(page)
  return [...(await small(page)), ...(await zoomed(page)), ...(await tooWide(page))].map(
    line => `${name}: ${line}`,
  )
}

/** The first one leaves the least room. */
const SCREENS = {
  'a small phone': { width: 320, height: 568 },
  ...(EVERY_LOOK && { 'a phone': { width: 390, height: 844 }, 'a tablet': { width: 1024, height: 768 } }),
}
for (const [screen, viewport] of Object.entries(SCREENS))
  test(`every control can be touched on ${screen}`, async ({ open }) => {
    const given = { viewport, hasTouch: true, isMobile: true }
    const found = []
    found.push(...(await check(await openApproval(open, given), 'approval')))
    const page = await openConversation(open, given)
    for (const [name, show] of Object.entries({ ...SURFACES, ...MORE })) {
      const close = await show(page)
      found.push(...(await check(page, name)))
      await close()
    }
    found.push(...(await check(await openSignIn(open, given), 'sign-in')))
    assert.deepEqual(found, [])
  })
