// The text of the files of a root is found line by line, and a line opens its file there.
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { MOBILE, shot, until } from './harness.mjs'

const lines = n => Array.from({ length: n }, (_, i) => `line ${i + 1}`).join('\n')
const test = withMiniclaw({
  prepare: async app => {
    await mkdir(join(app.home, 'knowledge/drinks'), { recursive: true })
    await writeFile(
      join(app.home, 'knowledge/drinks/tea.md'),
      `${lines(80)}\nGreen TEA <b>绿茶</b>\n${lines(80)}\n`,
    )
    await writeFile(join(app.home, 'knowledge/other.md'), 'No drink.\n')
  },
})
const WORDS = { en: ['Knowledge', 'Find in files', 'Files'], zh: ['知识库', '在文件中查找', '文件'] }

for (const { look, small, given } of LOOKS) {
  test(`a line is found and opened: ${look}`, async ({ open }) => {
    const [tab, button] = WORDS[given.lang ?? 'en']
    const page = await open(small ? { ...MOBILE, ...given } : given)
    if (small)
      await page
        .getByRole('button', { name: WORDS[given.lang ?? 'en'][2], exact: true })
        .last()
        .click()
    const inspector = page.locator('#pane-right')
    await inspector.getByRole('tab', { name: tab, exact: true }).click()
    await inspector.getByRole('button', { name: button, exact: true }).click()
    const found = inspector.getByRole('region', { name: button })
    await page.keyboard.type('tea green')
    const line = found.getByRole('link', { name: /Green TEA <b>绿茶<\/b>/ })
    // The first word alone finds the same line.
    await until(
      () => found.locator('mark').allTextContents(),
      marks => marks.join() === 'Green,TEA',
      'both words',
    )
    assert.deepEqual(await faults(page), [])
    await shot(page, `find-in-files-${look}`)
    await line.click()
    const text = inspector.locator('.cm-content')
    await text.getByText('Green TEA').waitFor()
    assert.ok(await text.getByText('Green TEA').isVisible())
    await inspector.getByRole('button', { name: button, exact: true }).click()
    await inspector.getByRole('treeitem').first().waitFor()
  })
}
