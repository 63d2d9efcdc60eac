// Labels of conversations: given in a dialog, shown in the list, and a filter.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { MOBILE, shot } from './harness.mjs'

const session = title =>
  JSON.stringify({
    title,
    created_at: 1,
    updated_at: Date.now() / 1000,
    messages: [{ role: 'user', content: 'Hi', id: 'q' }],
  })
const test = withMiniclaw({
  prepare: async app => {
    for (const name of ['Tax return', 'Holiday', 'Garden'])
      await writeFile(join(app.home, 'sessions', `${name[0]}.json`), session(name))
  },
})
const WORDS = {
  en: {
    menu: 'More actions for',
    labels: 'Labels',
    field: 'New label',
    list: 'Conversations',
    arrange: /filter/i,
  },
  zh: { menu: '更多操作', labels: '标签', field: '新标签', list: '对话列表', arrange: /筛选/ },
}

for (const { look, small, given } of LOOKS) {
  test(`labels are given and filter the list: ${look}`, async ({ open }) => {
    const words = WORDS[given.lang ?? 'en']
    const page = await open(small ? { ...MOBILE, ...given } : given)
    if (small) await page.getByRole('button', { name: words.list, exact: true }).last().click()
    const list = page.locator('#pane-left')
    const row = list.locator('[data-session=T]')
    await row.hover()
    await row.getByRole('button').last().click()
    await page.getByRole('menuitem', { name: words.labels, exact: true }).click()
    const dialog = page.getByRole('dialog', { name: words.labels })
    await page.waitForFunction(() => document.activeElement?.closest('[role=dialog]'))
    await dialog.getByRole('textbox', { name: words.field }).fill('money 💶')
    await page.keyboard.press('Enter')
    const box = dialog.getByRole('checkbox', { name: 'money 💶' })
    await box.waitFor()
    assert.ok(await box.isChecked())
    assert.deepEqual(await faults(page), [])
    await shot(page, `labels-${look}`)
    await page.keyboard.press('Escape')
    await row.getByText('money 💶').waitFor()
    await list.getByRole('button', { name: words.arrange }).click()
    await page.getByRole('menuitemcheckbox', { name: 'money 💶' }).click()
    await list.locator('[data-session=H]').waitFor({ state: 'detached' })
    await row.waitFor()
    assert.deepEqual(await faults(page), [])
    await shot(page, `labels-list-${look}`)
    await list.getByRole('button', { name: words.arrange }).click()
    await page.getByRole('menuitemcheckbox').first().click()
    await list.locator('[data-session=H]').waitFor()
  })
}
