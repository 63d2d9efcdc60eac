// An answer streams into a long conversation while somebody types; then once more while somebody reads further up.
import { openPage, say, settled, until } from '../harness.mjs'
import { LAST } from './material.mjs'
import { courseOf, shiftOf, slowest, smoothness, watching } from './watch.mjs'

const pause = ms => new Promise(resolve => setTimeout(resolve, ms))
const log = page => page.getByRole('log')

const gap = page => log(page).evaluate(box => box.scrollHeight - box.scrollTop - box.clientHeight)

async function openLong(browser, app, id) {
  const watch = watching()
  const { page, close } = await openPage(browser, app, { path: `/s/${id}`, prepare: watch.prepare })
  await log(page).getByText(LAST).waitFor()
  await settled(page)
  return { watch, page, close }
}

/** Types a letter twice a second until `end`. */
async function type(page, end) {
  while (performance.now() < end) {
    await page.keyboard.type('a ')
    await pause(Math.min(500, Math.max(0, end - performance.now())))
  }
}

/**
 * Streams `tokens` at `rate` a second. The only input in the meantime is a letter twice a second. Frames are counted
 * in the middle third; CPU time is measured in the other two, because counting forces a frame every sixtieth of a
 * second.
 */
export async function follow(browser, app, { id, tokens, rate, question }) {
  const { watch, page, close } = await openLong(browser, app, id)
  await say(page, question)
  await page
    .getByRole('article', { name: 'miniclaw', exact: true })
    .getByText('What was found')
    .first()
    .waitFor()
  await watch.clear()
  const third = ((1000 * tokens) / rate - 1000) / 3
  const begin = performance.now()
  const spans = []
  const measured = async end => {
    const before = await watch.thread()
    await type(page, end)
    const after = await watch.thread()
    spans.push(Object.fromEntries(Object.keys(after).map(key => [key, after[key] - before[key]])))
  }
  await measured(begin + third)
  await watch.seen(() => window.__seen.countFrames())
  await type(page, begin + 2 * third)
  const frames = await watch.seen(() => {
    const { frames } = window.__seen
    window.__seen.frames = null
    return frames
  })
  await measured(begin + 3 * third)
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('')
  await settled(page)
  const left = await until(
    () => gap(page),
    px => Math.abs(px) < 1,
    'the end of the answer in view',
  ).catch(() => gap(page))
  const seen = await watch.seen(() => ({
    tasks: window.__seen.tasks,
    events: window.__seen.events,
    shifts: window.__seen.shifts,
    nodes: document.querySelectorAll('*').length,
  }))
  await close()
  const perSecond = part =>
    spans.reduce((sum, span) => sum + span[part], 0) / spans.reduce((sum, { at }) => sum + at, 0)
  const share = part => 100 * perSecond(part)
  return {
    cpu: share('all'),
    layouts: perSecond('layouts'),
    parts: ['script', 'style', 'layout'].map(part => [part, share(part)]),
    longest: Math.max(0, ...seen.tasks.map(([, ms]) => ms)),
    tasks: seen.tasks.length,
    ...smoothness(frames),
    ...slowest(seen.events),
    course: courseOf(seen.events),
    shift: shiftOf(seen.shifts),
    nodes: seen.nodes,
    gap: left,
  }
}

/** How far the text that the reader looks at moved, in px, while the answer below it grew. */
export async function readOn(browser, app, { id, question, seconds }) {
  const { page, close } = await openLong(browser, app, id)
  await say(page, question)
  await page
    .getByRole('article', { name: 'miniclaw', exact: true })
    .getByText('What was found')
    .nth(3)
    .waitFor()
  await log(page).hover()
  for (let turns = 0; turns < 4; turns += 1) {
    await page.mouse.wheel(0, -300)
    await pause(50)
  }
  await page.getByRole('button', { name: 'Scroll to latest' }).waitFor()
  await pause(500)
  const look = () =>
    log(page).evaluate(box => {
      const { top } = box.getBoundingClientRect()
      const blocks = [...box.querySelectorAll('article :is(p, li, pre, tr, h3, h4, h5, h6)')]
      const first = blocks.find(block => block.getBoundingClientRect().top >= top)
      return { text: first.textContent, y: first.getBoundingClientRect().top, height: box.scrollHeight }
    })
  const before = await look()
  await pause(seconds * 1000)
  const after = await look()
  await settled(page)
  await close()
  const same = before.text === after.text
  return {
    moved: same ? Math.abs(after.y - before.y) : Number.POSITIVE_INFINITY,
    grown: after.height - before.height,
  }
}
