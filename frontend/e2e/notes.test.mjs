// A project that is a vault of notes: searched by meaning, read as pages, and written with links that are completed.
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { ask, shot } from './harness.mjs'

const test = withMiniclaw()

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const TEA = `---
title: Green tea
tags: [drink/hot, plants]
aliases: [Sencha]
---
# Steeping

Steep the leaves in [[Water|hot water]] for two minutes. %%hidden remark%% See [[Nowhere]] and #drink.

> [!tip] Temperature
> About **80 °C**, never boiling: see [[Water#Boiling]].

> [!warning]- Folded
> Too hot makes it bitter.

> Only a quotation.

![[Water#Boiling]]

![[leaf.png|60]]

![[Loop]]

- [the kettle](places/Kettle.md) and \`[[code]]\`
`
const FILES = {
  'Tea.md': TEA,
  'places/Water.md':
    '---\ntags: drink\n---\nFrom the tap. Back to [[tea]].\n\n## Boiling\n\nBoil it in a [[Kettle]].\n\n## Cold\n\nIn summer.\n',
  'places/Kettle.md': 'An iron kettle for green tea lasts a lifetime.\n',
  'Loop.md': 'Around: ![[Tea]]\n',
  'leaf.png': PIXEL,
  '.obsidian/app.json': '{}',
}

const inspector = page => page.locator('#pane-right')
const text = page => inspector(page).locator('.cm-content')
const send = (app, path, method, body = {}) =>
  ask(app, path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

async function vault(app, name, files = FILES) {
  const { id, path } = (await send(app, '/api/projects', 'POST', { name })).data
  for (const [file, content] of Object.entries(files)) {
    const at = join(app.home, 'workspaces', path, file)
    await mkdir(join(at, '..'), { recursive: true })
    await writeFile(at, content)
  }
  return id
}

const preview = page => inspector(page).getByRole('region', { name: /^Preview of / })
const showPreview = page => inspector(page).getByRole('button', { name: 'Show preview' }).click()

test('a project is searched by meaning, and a passage opens its lines', async ({ app, open }) => {
  const id = await vault(app, 'Searched')
  const page = await open({ path: `/p/${id}` })
  await inspector(page).getByRole('button', { name: 'Find in files', exact: true }).click()
  await inspector(page).getByRole('button', { name: 'By meaning', exact: true }).click()
  await inspector(page).getByText('Ask in your own words').waitFor()
  await inspector(page).getByRole('searchbox').fill('how long do leaves steep?')
  const found = inspector(page).getByRole('region', { name: 'By meaning' })
  const passage = found.getByRole('button', { name: /Tea\.md/ })
  await passage.getByText('Steep the leaves in hot water').waitFor()
  await expect(found.getByText('hidden remark')).toHaveCount(0)
  await shot(page, 'notes-search')
  assert.deepEqual(await faults(page), [])
  await passage.click()
  await text(page).getByText('Steep the leaves').waitFor()
  await inspector(page).getByRole('searchbox').fill('#drink')
  await found.getByRole('button', { name: /places\/Water\.md/ }).waitFor()
  await expect(found.getByRole('button')).toHaveCount(2)
  await inspector(page).getByRole('button', { name: 'Exact text', exact: true }).click()
  await inspector(page).getByRole('region', { name: 'Find in files' }).waitFor()
})

test('a note is read as a page with its links, embeds, tags and mentions', async ({ app, open }) => {
  const id = await vault(app, 'Read')
  const page = await open({ path: `/p/${id}/f/Tea.md` })
  await text(page).waitFor()
  await showPreview(page)
  const note = preview(page)
  await note.getByRole('table', { name: 'Properties' }).getByText('Sencha').waitFor()
  await expect(note.getByText('hidden remark')).toHaveCount(0)
  await note.getByText('Nowhere', { exact: false }).first().waitFor()
  await expect(note.getByRole('link', { name: 'Nowhere' })).toHaveCount(0)
  await note.getByRole('note', { name: 'Callout: tip' }).getByText('80 °C').waitFor()
  await expect(note.locator('blockquote')).toHaveCount(1)
  await note.getByRole('group', { name: 'From places/Water.md' }).getByText('Boil it in a').waitFor()
  await expect(note.getByText('In summer.')).toHaveCount(0)
  await expect(note.getByRole('img')).toHaveAttribute('width', '60')
  await note.getByText('Not shown again: the notes embed each other.').waitFor()
  await expect(note.locator('code')).toHaveText('[[code]]')
  await note.getByText('Mentions', { exact: true }).click()
  await note.getByRole('region', { name: 'Linked: 2' }).getByText('Back to tea.').waitFor()
  await note.getByRole('region', { name: 'Not linked: 1' }).getByText('An iron kettle').waitFor()
  await shot(page, 'notes-preview')
  assert.deepEqual(await faults(page), [])
  await note.getByRole('link', { name: 'hot water' }).click()
  await preview(page).getByText('From the tap.').waitFor()
  await preview(page).getByRole('button', { name: '#drink' }).click()
  const found = inspector(page).getByRole('region', { name: 'By meaning' })
  await found.getByRole('button', { name: /Tea\.md/ }).waitFor()
})

test('links and tags are completed, marked and followed', async ({ app, open }) => {
  const id = await vault(app, 'Written', {
    ...FILES,
    'New.md': '---\ntags: [plants]\n---\nTo [[Nowhere]].\n',
  })
  const page = await open({ path: `/p/${id}/f/New.md` })
  await text(page).getByText('To').waitFor()
  await text(page).locator('.cm-nonote', { hasText: 'Nowhere' }).waitFor()
  await text(page).click()
  await page.keyboard.press('Control+End')
  const options = page.getByRole('listbox')
  // An option is taken only after a moment, so that no key meant for the text chooses it. A key that comes too early begins
  // a new line, and the next attempt goes on there.
  await expect(async () => {
    await page.keyboard.type('See [[Ket')
    await options.getByRole('option', { name: /^Kettle/ }).waitFor({ timeout: 10_000 })
    await shot(page, 'notes-completion')
    await page.keyboard.press('Enter')
    await expect(text(page)).toContainText('[[Kettle]]', { timeout: 2_000 })
  }).toPass()
  await page.keyboard.type(' or [[Senc')
  await options.getByRole('option', { name: /^Sencha/ }).click()
  await expect(text(page)).toContainText('[[Tea|Sencha]]')
  await page.keyboard.type(' #dri')
  await options.getByRole('option', { name: /^drink\/hot/ }).waitFor()
  await page.keyboard.press('Escape')
  await expect(options).toHaveCount(0)
  await text(page)
    .locator('.cm-notelink', { hasText: 'Kettle' })
    .click({ modifiers: ['ControlOrMeta'] })
  await text(page).getByText('An iron kettle').waitFor()
})

test('a vault of five thousand notes opens and completes', async ({ app, open }) => {
  const files = {}
  for (let n = 0; n < 5000; n++)
    files[`${n % 50}/Note ${n}.md`] =
      `---\ntags: [t${n % 20}]\n---\nTo [[Note ${(n * 7) % 5000}]] and [[Note ${n + 1}]].\n`
  const id = await vault(app, 'Large', files)
  const page = await open({ path: `/p/${id}/f/7/Note%207.md` })
  await text(page).locator('.cm-notelink', { hasText: 'Note 49' }).waitFor()
  await text(page).click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('[[Note 4999')
  await page.getByRole('option', { name: /^Note 4999/ }).waitFor()
  await showPreview(page)
  await preview(page).getByRole('link', { name: 'Note 8' }).click()
  await preview(page).getByRole('link', { name: 'Note 56' }).waitFor()
})

for (const { look, small, given } of LOOKS) {
  test(`notes look right (${look})`, async ({ app, open }) => {
    const id = await vault(app, `Look ${look}`)
    const page = await open({
      ...given,
      path: `/p/${id}/f/Tea.md`,
      prepare: async page => {
        await page.addInitScript(() => localStorage.setItem('mc:owner:markdownView', 'preview'))
      },
      ready: page =>
        inspector(page)
          .getByRole('region', { name: /Tea\.md/ })
          .first(),
    })
    await inspector(page).getByText('80 °C').waitFor()
    await shot(page, `notes-${look}`)
    // On a small screen, the heading above those of the note is in another pane.
    const rules = { 'heading-order': { enabled: !small } }
    assert.deepEqual(await faults(page, { rules }), [])
  })
}
