// Skills: a SKILL.md is checked while it is open, its problems are fixed in the text, and a form creates a new one.
import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { problemsIn } from '../src/features/skills/check.ts'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { ask, shot, until } from './harness.mjs'

const test = withMiniclaw()

const inspector = page => page.locator('#pane-right')
const text = page => inspector(page).locator('.cm-content')
const banner = page =>
  inspector(page)
    .getByRole('list')
    .filter({ has: page.getByRole('button', { name: /^(Line|第) ?\d/ }) })
const problem = (page, words) => inspector(page).getByRole('listitem').filter({ hasText: words })
const fix = (page, words) => problem(page, words).getByRole('button', { name: /^(Fix|修复)$/ })
const pathOf = (app, folder) => join(app.home, 'skills', folder, 'SKILL.md')
const onDisk = (app, folder) => readFile(pathOf(app, folder), 'utf8')

async function put(app, folder, content) {
  await mkdir(join(app.home, 'skills', folder), { recursive: true })
  await writeFile(pathOf(app, folder), content)
  await until(
    () => ask(app, '/api/skills'),
    ({ skills }) => skills.some(({ location }) => location === `skills/${folder}/SKILL.md`),
    'the skill',
  )
}

test('problems are shown with their lines, and each fix is one step that can be undone', async ({
  app,
  open,
}) => {
  const before = '---\nname: Tidy Up\ndescription: Tidies: often\n---\n\n# Tidy\n'
  await put(app, 'tidy', before)
  const page = await open()
  await inspector(page).getByRole('tab', { name: 'Skills' }).click()
  const row = inspector(page).getByRole('button', { name: /^tidy.*Not used yet/ })
  await row.click()
  await inspector(page).getByText('miniclaw can’t use this skill yet.').waitFor()
  await problem(page, 'needs quotes').getByRole('button', { name: 'Line 3' }).click()
  await inspector(page).locator('.cm-passage').getByText('description: Tidies: often').waitFor()
  await shot(page, 'skill-broken')
  assert.deepEqual(await faults(page), [])

  await fix(page, 'needs quotes').click()
  await text(page).getByText('description: "Tidies: often"').waitFor()
  await inspector(page).getByText('This skill works, with 2 problems.').waitFor()
  await inspector(page).getByText('Unsaved').first().waitFor()
  assert.equal(await onDisk(app, 'tidy'), before, 'a fix does not save')
  // The text has the focus after a fix.
  await page.keyboard.press('Control+z')
  await problem(page, 'needs quotes').waitFor()
  await page.keyboard.press('Control+y')
  await fix(page, 'match the folder').click()
  await text(page).getByText('name: tidy').waitFor()
  await banner(page).waitFor({ state: 'detached' })
  await page.keyboard.press('Control+s')
  await inspector(page)
    .getByText(/^Saved \d\d:\d\d$/)
    .waitFor()
  assert.equal(await onDisk(app, 'tidy'), '---\nname: tidy\ndescription: "Tidies: often"\n---\n\n# Tidy\n')
  await row.waitFor({ state: 'detached' })
  assert.equal(await banner(page).count(), 0)
  const { skills } = await ask(app, '/api/skills')
  assert.equal(skills.find(({ name }) => name === 'tidy').error, undefined)
})

test('a file without front matter gets one, and the cursor is where the description belongs', async ({
  app,
  open,
}) => {
  await put(app, 'plain_text', '# Plain\n\nDo it.\n')
  const page = await open({ path: '/f/skills/plain_text/SKILL.md' })
  await fix(page, 'no name and description').click()
  await inspector(page).getByText('The description is missing').waitFor()
  assert.equal(await problem(page, 'description is missing').getByRole('button', { name: 'Fix' }).count(), 0)
  await page.keyboard.type('Does it: “now” 🦀')
  await fix(page, 'needs quotes').click()
  await page.keyboard.press('Control+s')
  await inspector(page)
    .getByText(/^Saved \d\d:\d\d$/)
    .waitFor()
  const { skills } = await ask(app, '/api/skills')
  const { name, description, error, notes } = skills.find(({ location }) => location.includes('plain_text'))
  assert.deepEqual(
    [name, description, error, notes],
    ['plain-text', 'Does it: “now” 🦀', undefined, undefined],
  )
  await text(page).click()
  await page.keyboard.press('Control+Home')
  for (let line = 0; line < 2; line++) await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Shift+End')
  await page.keyboard.press('Delete')
  await problem(page, 'description is missing').getByRole('button', { name: 'Add description' }).click()
  await page.keyboard.type('Once more')
  await text(page).getByText('description: Once more').waitFor()
})

test('a fix works while only the preview is shown', async ({ app, open }) => {
  await put(app, 'seen', '---\nname: Seen\ndescription: d\n---\n')
  const page = await open({
    path: '/f/skills/seen/SKILL.md',
    prepare: page => page.addInitScript(() => localStorage.setItem('mc:owner:markdownView', 'preview')),
  })
  await inspector(page)
    .getByRole('region', { name: /^Preview of/ })
    .waitFor()
  assert.equal(await text(page).count(), 0)
  await fix(page, 'match the folder').click()
  await text(page).getByText('name: seen').waitFor()
})

test('a problem that only the server sees has no fix', async ({ app, open }) => {
  await mkdir(join(app.home, 'skills/hiding/.git'), { recursive: true })
  await writeFile(join(app.home, 'skills/hiding/.git/notes.md'), 'Hidden\n')
  await put(app, 'hiding', '---\nname: hiding\ndescription: d\n---\n')
  await until(
    () => ask(app, '/api/skills'),
    ({ skills }) => skills.some(({ note_codes: codes }) => codes?.some(({ code }) => code === 'hidden')),
    'the note',
  )
  const page = await open({ path: '/f/skills/hiding/SKILL.md' })
  await problem(page, 'hidden files').waitFor()
  assert.equal(await problem(page, 'hidden files').getByRole('button').count(), 0)
  await inspector(page)
    .getByRole('button', { name: /^hiding.*1 problem/ })
    .waitFor()
})

test('the page finds in a text what the server finds', async ({ app }) => {
  const skill = (...fields) => `---\n${fields.map(field => `${field}\n`).join('')}---\n\nDo it.\n`
  const TEXTS = [
    '',
    '# Text\n',
    '\n---\nname: a\n---\n',
    '---\nname: a\ndescription: d\n',
    '\ufeff---\r\nname: t0\r\ndescription: d\r\n---\r\n',
    '--- \nname: 天气\ndescription: d\n---',
    skill('- a', '- b'),
    skill(),
    skill('description: d'),
    skill('name:', 'description: d'),
    skill('name: a', 'description: []'),
    skill('name: [a', 'description: d'),
    skill('name: a', 'name: b', 'description: d'),
    skill('name: a', 'description: b: c'),
    skill('name: a', 'description: @b'),
    skill('name: a', 'description: "b'),
    skill('name: a', 'description: b #c', 'metadata: none'),
    skill('name: a', 'description: >', '  b', '  c', 'metadata: {x: 1}'),
    skill(`name: ${'N'.repeat(65)}`, `description: ${'🦀'.repeat(1025)}`, 'metadata: [a]'),
    skill('name: 2048', 'description: true', 'metadata:', '\tx: 1'),
    skill(`name: ${'x'.repeat(70_000)}`),
  ]
  for (const [n, content] of TEXTS.entries()) await put(app, `t${n}`, content)
  const { skills } = await ask(app, '/api/skills')
  for (const [n, content] of TEXTS.entries()) {
    const { error_code, note_codes = [] } = skills.find(
      ({ location }) => location === `skills/t${n}/SKILL.md`,
    )
    const server = [...(error_code ? [error_code.code] : []), ...note_codes.map(({ code }) => code)]
    const found = problemsIn(content, `t${n}`).map(({ code }) => code)
    // The server stops at the first problem that breaks a skill.
    const page = error_code?.code === 'no_name' ? found.filter(code => code !== 'no_description') : found
    assert.deepEqual(page.sort(), server.sort(), JSON.stringify(content.slice(0, 80)))
  }
})

test('a new skill is described in a form, whatever its description contains', async ({ app, open }) => {
  const page = await open()
  await inspector(page).getByRole('tab', { name: 'Skills' }).click()
  const button = inspector(page).getByRole('button', { name: 'New skill' })
  const dialog = page.getByRole('dialog', { name: 'New skill' })
  const field = name => dialog.getByRole('textbox', { name })
  const createIt = dialog.getByRole('button', { name: 'Create skill' })
  await button.click()
  assert.equal(await field('Name').evaluate(element => element === document.activeElement), true)
  await page.keyboard.type('Weekly Report')
  await dialog.getByText('Use only a–z').waitFor()
  assert.equal(await createIt.isDisabled(), true)
  await field('Name').fill('web_digest')
  await dialog.getByText('Use only a–z').waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  assert.equal(await button.evaluate(element => element === document.activeElement), true)

  await put(app, 'taken', '---\nname: taken\ndescription: d\n---\n')
  await button.click()
  assert.equal(await field('Name').inputValue(), 'web_digest', 'what was typed is still there')
  await field('Name').fill('taken')
  await dialog.getByText('already exists').waitFor()
  await field('Name').fill('weekly-report')
  await dialog.getByText('already exists').waitFor({ state: 'detached' })
  await field('Description').fill('🦀'.repeat(1025))
  await dialog.getByText('1,025 / 1,024').waitFor()
  await dialog.getByText('Shorten it').waitFor()
  assert.equal(await createIt.isDisabled(), true)
  assert.deepEqual(await faults(page), [])
  const hostile = `Writes: the "report" — it's {due} #weekly, [or] & *not* 🦀 %x \\n ---`
  await field('Description').fill(`${hostile}\n---\nname: other`)
  await field('Instructions').fill('# Steps\n\n1. Read the notes.\n')
  await createIt.click()
  await dialog.waitFor({ state: 'detached' })
  await text(page).getByText('1. Read the notes.').waitFor()
  await text(page).and(page.locator(':focus')).waitFor()
  const { skills, untrusted } = await ask(app, '/api/skills')
  const made = skills.find(({ location }) => location === 'skills/weekly-report/SKILL.md')
  assert.equal(made.description, `${hostile} --- name: other`)
  assert.deepEqual([made.name, made.error, made.notes], ['weekly-report', undefined, undefined])
  assert.deepEqual(
    untrusted.filter(({ path }) => path.includes('weekly')),
    [],
  )
  assert.match(await onDisk(app, 'weekly-report'), /---\n\n# Steps\n\n1\. Read the notes\.\n$/)
})

test('a skill that appeared meanwhile is not overwritten', async ({ app, open }) => {
  const page = await open()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('New skill')
  await page.getByRole('combobox').press('Enter')
  const dialog = page.getByRole('dialog', { name: 'New skill' })
  await dialog.getByRole('textbox', { name: 'Name' }).fill('raced')
  await dialog.getByRole('textbox', { name: 'Description' }).fill('Mine')
  await page.route('**/api/skills', route => route.abort())
  await put(app, 'raced', '---\nname: raced\ndescription: Theirs\n---\n')
  await dialog.getByRole('button', { name: 'Create skill' }).click()
  await dialog.getByRole('alert').getByText('already exists').waitFor()
  assert.match(await onDisk(app, 'raced'), /Theirs/)
})

test('the settings list the skills with their trust, and open them', async ({ open }) => {
  const page = await open()
  await page.getByRole('button', { name: 'Settings' }).first().click()
  const settings = page.getByRole('dialog', { name: 'Settings' })
  await settings.getByRole('searchbox').fill('skills')
  const skills = settings.getByRole('list', { name: 'Skills' })
  await skills.getByText('Trusted').first().waitFor()
  await skills.getByRole('link').first().click()
  await settings.waitFor({ state: 'detached' })
  await page.locator('#pane-right .cm-content').waitFor()
})

test('a skill is disabled and enabled in the settings', async ({ app, open }) => {
  const page = await open()
  await page.getByRole('button', { name: 'Settings' }).first().click()
  const settings = page.getByRole('dialog', { name: 'Settings' })
  await settings.getByRole('searchbox').fill('skills')
  const toggle = settings.getByRole('switch', { name: 'Enable get-weather' })
  const offered = async () =>
    (await readFile(join(app.home, 'SKILLS_SNAPSHOT.md'), 'utf8')).includes('get-weather')
  assert.equal(await toggle.getAttribute('aria-checked'), 'true')
  assert.ok(await offered())
  await toggle.click()
  await settings.getByRole('switch', { name: 'Enable get-weather', checked: false }).waitFor()
  assert.ok(!(await offered()))
  assert.deepEqual(await faults(page), [])
  await shot(page, 'skill-disabled')
  await toggle.click()
  await settings.getByRole('switch', { name: 'Enable get-weather', checked: true }).waitFor()
  assert.ok(await offered())
})

for (const { look, small, given } of LOOKS)
  test(`the banner and the form are accessible: ${look}`, async ({ app, open }) => {
    await put(app, 'look', '---\nname: Look At It\nmetadata: none\n---\n\n# Look\n')
    const page = await open({ ...given, path: '/f/skills/look/SKILL.md', ready: inspector })
    await inspector(page)
      .getByRole('button', { name: /^(Add description|添加描述)$/ })
      .waitFor()
    assert.deepEqual(await faults(page), [])
    await shot(page, `skill-problems-${look}`)
    await inspector(page)
      .getByRole('button', { name: /^(New skill|新建技能)$/ })
      .click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox').first().fill('weather-at-home')
    await dialog.getByRole('textbox').nth(1).fill('What it is like outside')
    assert.deepEqual(await faults(page), [])
    await shot(page, `skill-new-${look}`)
    if (!small) return
    for (const control of await dialog.locator('button, input').all()) {
      const { height } = await control.boundingBox()
      assert.ok(height >= 44, `${await control.evaluate(element => element.outerHTML)}: ${height}`)
    }
  })
