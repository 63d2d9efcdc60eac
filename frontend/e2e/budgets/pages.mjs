// How fast a page loads, how fast it responds, and how fast a long conversation opens.
import { openPage, until } from '../harness.mjs'
import { LAST } from './material.mjs'
import { median, shiftOf, slowest, watching } from './watch.mjs'

const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

/**
 * Runs in the page: records when both the composer and the editor are present, after every part of the page has run.
 */
function waitReady() {
  const look = () => {
    if (document.querySelector('.cm-content') && document.querySelector('textarea'))
      window.__seen.ready = performance.now()
    else requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
}

/** Loads the page with an open file, then clicks and types as people do. */
async function load(browser, app, throttle) {
  const watch = watching(throttle)
  const prepare = async page => {
    await watch.prepare(page)
    await page.addInitScript(waitReady)
  }
  const { page, close } = await openPage(browser, app, { path: '/s/long-0?file=memory/MEMORY.md', prepare })
  await until(
    () => watch.seen(() => window.__seen.ready),
    ready => ready !== null,
    'the editor',
  )
  await page.getByRole('log').getByText(LAST).waitFor()
  await pause(500)
  const loaded = await watch.seen(() => ({
    paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    ready: window.__seen.ready,
    blocked: window.__seen.tasks.reduce((sum, [, ms]) => sum + Math.max(0, ms - 50), 0),
    shifts: window.__seen.shifts,
    nodes: document.querySelectorAll('*').length,
  }))
  const { all: cpu } = await watch.thread()
  await watch.clear()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').waitFor()
  await page.keyboard.type('mem', { delay: 60 })
  await page.keyboard.press('Escape')
  await page.getByRole('textbox', { name: 'Message', exact: true }).click()
  await page.keyboard.type('hello world', { delay: 40 })
  await page.locator('.cm-content').click()
  await page.keyboard.type('hello', { delay: 40 })
  for (const name of ['Skills', 'Workspace', 'Knowledge', 'Memory'])
    await page.getByRole('tab', { name, exact: true }).click()
  await pause(400)
  const used = await watch.seen(() => ({ events: window.__seen.events, shifts: window.__seen.shifts }))
  await close()
  return {
    ...loaded,
    cpu: cpu * 1000,
    ...slowest(used.events),
    shift: shiftOf([...loaded.shifts, ...used.shifts]),
  }
}

/** The median of each figure over several loads. */
export async function loads(browser, app, { throttle, times }) {
  const runs = []
  for (let n = 0; n < times; n += 1) runs.push(await load(browser, app, throttle))
  return Object.fromEntries(Object.keys(runs[0]).map(key => [key, median(runs.map(run => run[key]))]))
}

/** Runs in the page: measures from the click on a link to the frame after the one that shows the last message. */
const timeOpening = text =>
  window.__timeClick(() => {
    const box = document.querySelector('[role=log]')
    const rows = [...(box?.querySelectorAll('[aria-posinset]') ?? [])]
    const last = rows.find(row => row.ariaPosInSet === row.ariaSetSize)
    return last?.textContent.includes(text) && last.getBoundingClientRect().top < innerHeight
  })

/** Milliseconds from click to paint for each of the conversations, none of which was loaded before. */
export async function openings(browser, app, titles) {
  const watch = watching()
  const { page, close } = await openPage(browser, app, { prepare: watch.prepare })
  const took = []
  const cpu = []
  for (const title of titles) {
    const link = page
      .getByRole('navigation', { name: 'Conversations' })
      .getByRole('link', { name: title, exact: true })
    await link.waitFor()
    await page.evaluate(timeOpening, LAST)
    const before = await watch.thread()
    await link.click()
    took.push(
      await until(
        () => page.evaluate(() => window.__painted),
        ms => ms !== null,
        'the last message',
      ),
    )
    await pause(300)
    cpu.push(((await watch.thread()).all - before.all) * 1000)
  }
  await close()
  return { median: median(took), worst: Math.max(...took), cpu: median(cpu) }
}
