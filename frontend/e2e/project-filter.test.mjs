// Many projects: the chooser below the message field, and the selector above the list of conversations. The page is told of
// more projects than the server of this test has.
import assert from 'node:assert/strict'
import { expect } from '@playwright/test'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, ask, MOBILE, say, settled, shot, until } from './harness.mjs'

const test = withMiniclaw({})
const AT = '2026-11-26T09:00:00Z'
const project = (id, name, more = {}) => ({
  ...{ id, name, user_id: 1, path: `folder-${id}`, description: '', created_at: AT, updated_at: AT },
  ...more,
})
const MANY = [
  project('p1', 'AlgoLab', { description: 'Course work on sorting' }),
  project('p2', '数据分析'),
  project('p3', 'Site'),
  ...Array.from({ length: 117 }, (_, n) => project(`q${n}`, `Archive ${n}`)),
]

/** Tells the page these projects, in pages, as the server does. */
const telling =
  (projects, asked = []) =>
  page =>
    page.route('**/api/projects?**', route => {
      const query = new URL(route.request().url()).searchParams
      asked.push(query.toString())
      const start = projects.findIndex(({ id }) => id === query.get('cursor')) + 1
      const items = projects.slice(start, start + Number(query.get('limit')))
      const has_more = start + items.length < projects.length
      const next_cursor = has_more ? items.at(-1).id : null
      return route.fulfill({ json: { code: 0, data: { items, next_cursor, has_more } } })
    })

const place = page =>
  page.locator('#pane-chat form').getByRole('button', { name: /^(Works in: |工作位置：)/ })
const selector = page => page.locator('#pane-left').getByRole('button', { name: /^(Project: |项目：)/ })
const filter = page => page.getByRole('combobox', { name: /^(Filter projects|筛选项目)$/ })
const option = (page, name) => page.getByRole('option', { name })
const rows = page => page.locator('#pane-left [data-session]')
const sessionOf = page => new URL(page.url()).pathname.split('/')[2]

async function begin(page, text) {
  await say(page, text)
  await page.waitForURL(/\/s\//)
  await answers(page).first().waitFor()
  await settled(page)
}

test('many projects are filtered by keys, and the bound one is checked', async ({ open }) => {
  const asked = []
  const page = await open({ prepare: telling(MANY, asked) })
  await place(page).click()
  await expect(filter(page)).toBeFocused()
  assert.deepEqual(asked, ['limit=100', 'limit=100&cursor=q96'])
  await expect(option(page, /.*/)).toHaveCount(122)
  await expect(option(page, /^Home/)).toHaveAttribute('aria-selected', 'true')
  assert.deepEqual(await faults(page), [])
  await shot(page, 'places-many')
  await filter(page).fill('course algo')
  await expect(option(page, /.*/)).toHaveCount(1)
  await filter(page).press('Enter')
  await expect(page.getByRole('listbox')).toHaveCount(0)
  await expect(place(page)).toBeFocused()
  await expect(place(page)).toHaveAccessibleName('Works in: AlgoLab')
  await page.keyboard.press('Enter')
  await expect(option(page, /^AlgoLab/)).toHaveAttribute('aria-selected', 'true')
  await filter(page).fill('nothing like it')
  await page.getByText('No results.').waitFor()
  await page.keyboard.press('Escape')
  await expect(place(page)).toBeFocused()
  await place(page).click()
  await filter(page).fill('home')
  await option(page, /^Home/).click()
  await expect(place(page)).toHaveAccessibleName('Works in: Home')
})

test('without projects the selector leads to the first, and two places need no filter', async ({ open }) => {
  const page = await open({ prepare: telling([project('scratch', 'scratch')]) })
  await place(page).click()
  await expect(option(page, /.*/)).toHaveCount(2)
  assert.equal(await filter(page).count(), 0)
  await expect(page.getByRole('listbox')).toBeFocused()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await expect(place(page)).toHaveAccessibleName('Works in: scratch/')
  await expect(selector(page)).toHaveAccessibleName('Project: All conversations')
  await selector(page).press('Enter')
  await expect(option(page, /.*/)).toHaveCount(2)
  assert.deepEqual(await faults(page), [])
  await shot(page, 'project-filter-none')
  await page.getByRole('button', { name: 'New project', exact: true }).press('Enter')
  await expect(page.getByRole('dialog').getByLabel('Name', { exact: true })).toBeFocused()
  await page.keyboard.press('Escape')
  await expect(selector(page)).toBeFocused()
})

test('the list shows a project’s conversations, new ones belong to it, and the choice stays', async ({
  open,
  app,
}) => {
  const page = await open({ prepare: telling(MANY) })
  await begin(page, 'outside')
  const outside = sessionOf(page)
  await expect(selector(page)).toHaveAccessibleName('Project: All conversations')
  await selector(page).click()
  await filter(page).fill('scratch')
  await filter(page).press('Enter')
  await expect(selector(page)).toHaveAccessibleName('Project: scratch/')
  await expect(selector(page)).toBeFocused()
  await page.getByText('No conversations in this project yet.').waitFor()
  // The open conversation stays, and where it works.
  assert.equal(sessionOf(page), outside)
  await expect(place(page)).toHaveAccessibleName('Works in: Home')

  await page.locator('#pane-left').getByRole('button', { name: 'New chat', exact: true }).click()
  await expect(place(page)).toHaveAccessibleName('Works in: scratch/')
  await begin(page, 'inside')
  const inside = sessionOf(page)
  assert.equal((await ask(app, `/api/sessions/${inside}/history`)).project_id, 'scratch')
  await expect(rows(page)).toHaveCount(1)
  assert.deepEqual(await faults(page), [])
  await shot(page, 'project-filter')
  // Keys move within what is listed.
  await page.keyboard.press('Alt+ArrowDown')
  assert.equal(sessionOf(page), inside)

  await page.reload()
  await expect(selector(page)).toHaveAccessibleName('Project: scratch/')
  await expect(rows(page)).toHaveCount(1)
  // Among all conversations, its row says where it works.
  await selector(page).click()
  await filter(page).fill('all conv')
  await filter(page).press('Enter')
  const link = id => page.locator(`#pane-left [data-session="${id}"] a`)
  await expect(link(inside)).toHaveAccessibleDescription('Project: scratch/')
  await expect(link(inside).locator('[title]').first()).toHaveAttribute('title', /\nProject: scratch\/\n/)
  await expect(link(outside)).toHaveAccessibleDescription('')
  assert.deepEqual(await faults(page), [])
  await selector(page).click()
  await filter(page).fill('scratch')
  await filter(page).press('Enter')
  await expect(rows(page)).toHaveCount(1)
  // A conversation that leaves the project leaves the list, also when another tab moves it.
  await ask(app, `/api/sessions/${inside}/project`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ project_id: null }),
  })
  await expect(rows(page)).toHaveCount(0)
  await page.locator('#pane-left').getByRole('button', { name: 'All conversations', exact: true }).click()
  await until(
    () => rows(page).count(),
    n => n >= 2,
    'all conversations',
  )
})

test('a project that is gone is no longer chosen', async ({ open }) => {
  const page = await open({ prepare: telling(MANY) })
  await selector(page).click()
  await filter(page).fill('algolab')
  await filter(page).press('Enter')
  await expect(place(page)).toHaveAccessibleName('Works in: AlgoLab')
  await page.unroute('**/api/projects?**')
  // It is there before the projects are told again, so that the list does not move.
  let tell = () => {}
  const told = new Promise(resolve => {
    tell = resolve
  })
  await page.route('**/api/projects?**', async route => {
    await told
    await route.fulfill({ json: { code: 0, data: { items: [], next_cursor: null, has_more: false } } })
  })
  await page.reload()
  await expect(selector(page)).toBeVisible()
  tell()
  await expect(place(page)).toHaveAccessibleName('Works in: Home')
  await expect(selector(page)).toHaveAccessibleName('Project: All conversations')
  await begin(page, 'still works')
})

test('a project that the server refuses is named at its field in the sheet', async ({ open }) => {
  const page = await open({ prepare: telling(MANY) })
  await begin(page, 'hello')
  await page.locator('#pane-chat header').getByRole('button', { name: 'This conversation' }).click()
  const sheet = page.getByRole('dialog', { name: 'This conversation' })
  await sheet.locator('[data-field=project_id]').click()
  await filter(page).fill('site')
  await filter(page).press('Enter')
  await sheet.getByRole('button', { name: 'Save' }).click()
  const row = sheet.locator('[data-row]').filter({ has: page.locator('[data-field=project_id]') })
  await row.getByRole('alert').waitFor()
  await expect(sheet.locator('[data-field=project_id]')).toBeFocused()
  await shot(page, 'conversation-project-refused')
})

for (const { look, small, given } of LOOKS) {
  test(`the selector of projects: ${look}`, async ({ open }) => {
    const page = await open({ ...given, ...(small && MOBILE), prepare: telling(MANY) })
    await place(page).click()
    await option(page, /^AlgoLab/).waitFor()
    assert.deepEqual(await faults(page), [])
    await shot(page, `places-${look}`)
    await option(page, /^AlgoLab/).click()
    if (small) await page.locator('nav').last().getByRole('button').first().click()
    await selector(page).click()
    await option(page, /^AlgoLab/).waitFor()
    assert.deepEqual(await faults(page), [])
    await shot(page, `project-filter-${look}`)
    await option(page, /^AlgoLab/).click()
    await expect(selector(page)).toHaveAccessibleName(/AlgoLab/)
    assert.deepEqual(await faults(page), [])
    await shot(page, `project-filter-${look}-chosen`)
  })
}
