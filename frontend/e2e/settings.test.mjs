// The settings: their sections, the search, and what each section does.
import assert from 'node:assert/strict'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { composer, shot, until } from './harness.mjs'

const test = withMiniclaw()

const settings = page => page.getByRole('dialog', { name: /^(Settings|设置)$/ })
async function openSettings(page) {
  await page.keyboard.press('ControlOrMeta+Comma')
  await settings(page).getByText('terminal', { exact: true }).waitFor()
}

for (const { look, small, given } of LOOKS)
  test(`the settings: ${look}`, async ({ open }) => {
    const page = await open(given)
    await openSettings(page)
    await shot(page, `settings-${look}`)
    assert.deepEqual(await faults(page), [])
    await settings(page).getByRole('searchbox').fill('token')
    await settings(page)
      .getByRole('searchbox')
      .fill(given.lang === 'zh' ? '备份' : 'back it up')
    assert.equal(await settings(page).getByRole('region').count(), 1)
    await shot(page, `settings-search-${look}`)
    assert.deepEqual(await faults(page), [])
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
    assert.equal(wide, false, `nothing is wider than the screen${small ? ' of a phone' : ''}`)
  })

test('the list of sections leads to each by keyboard, and its settings work', async ({ app, open }) => {
  const page = await open()
  await openSettings(page)
  const list = settings(page).getByRole('navigation', { name: 'Sections' })
  await list.getByRole('button', { name: 'Data' }).focus()
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Data')
  await settings(page).getByText(app.home).first().waitFor()

  const status = async () => (await fetch(`${app.url}/api/status`)).json()
  const before = (await status()).rag_mode
  await settings(page).getByRole('switch', { name: 'Memory retrieval' }).click()
  await until(status, ({ rag_mode }) => rag_mode !== before, 'the switch to reach the server')

  const shown = await settings(page).getByRole('region', { name: 'Tools' }).locator('code').allTextContents()
  assert.deepEqual(shown.toSorted(), (await status()).tools.map(({ name }) => name).toSorted())

  await settings(page).getByRole('button', { name: 'Retrieval playground' }).click()
  await settings(page).waitFor({ state: 'detached' })
  await page.waitForURL(/playground/)
  await page.goBack()
  await composer(page).waitFor()
})
