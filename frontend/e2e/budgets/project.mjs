// How fast the tree of a large project is painted: 50,000 files in 500 folders, and one folder with 50,000 more.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ask, openPage } from '../harness.mjs'
import { median, timeClicks } from './watch.mjs'

const FOLDERS = 500
const FILES = 100
const MANY = 50_000

async function folder(at, count) {
  await mkdir(at, { recursive: true })
  for (let first = 0; first < count; first += 1_000) {
    const numbers = Array.from({ length: Math.min(1_000, count - first) }, (_, n) => first + n)
    await Promise.all(numbers.map(n => writeFile(join(at, `file-${n}.txt`), '')))
  }
}

/** Makes the project. Every page finds it by its name. */
async function make(app) {
  const { path } = (
    await ask(app, '/api/projects', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"name": "Large"}',
    })
  ).data
  const at = join(app.home, 'workspaces', path)
  for (let n = 0; n < FOLDERS; n += 1) await folder(join(at, `folder-${String(n).padStart(3, '0')}`), FILES)
  await folder(join(at, 'many'), MANY)
}

/** Runs in the page: measures from the next click to the frame after the one that shows a row of this name. */
const timeRow = name =>
  window.__timeClick(() =>
    [...document.querySelectorAll('#pane-right [role=treeitem]')].some(row =>
      row.textContent.startsWith(name),
    ),
  )

/** How long a button is down, in milliseconds. A person's finger takes longer. */
const PRESS = 50

async function clicked(page, element, name) {
  await element.waitFor()
  await page.evaluate(timeRow, name)
  await element.click({ delay: PRESS })
  return (await page.waitForFunction(() => window.__painted)).jsonValue()
}

/** Milliseconds until the tree of a page that has just been opened is painted, until five of its folders are, and a large one. */
async function once(browser, app) {
  const { page, close } = await openPage(browser, app, { prepare: page => page.addInitScript(timeClicks) })
  const pane = page.locator('#pane-right')
  const row = name => pane.getByRole('treeitem', { name: new RegExp(`^${name}`) })
  await pane.getByRole('tab', { name: 'Project', exact: true }).click()
  await pane.getByRole('button', { name: 'Choose a project' }).click()
  const tree = await clicked(page, page.getByRole('option', { name: /^Large/ }), 'folder-000')
  const small = []
  for (const name of ['folder-007', 'folder-002', 'folder-009', 'folder-004', 'folder-006']) {
    small.push(await clicked(page, row(name), 'file-0.txt'))
    await row(name).click()
    await row('file-0.txt').waitFor({ state: 'detached' })
  }
  await page.keyboard.press('End')
  const large = await clicked(page, row('many'), 'file-0.txt')
  await close()
  return { tree, small, large }
}

/** The medians of `times` pages, and the slowest of each. */
export async function trees(browser, app, times) {
  await make(app)
  const runs = []
  for (let n = 0; n < times; n += 1) runs.push(await once(browser, app))
  return Object.fromEntries(
    Object.keys(runs[0]).map(key => {
      const all = runs.flatMap(run => run[key])
      return [key, { median: median(all), worst: Math.max(...all) }]
    }),
  )
}
