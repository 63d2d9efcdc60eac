import assert from 'node:assert/strict'
import { faults, withMiniclaw } from './fixtures.mjs'
import { answers, composer, MOBILE, say, settled, shot, until } from './harness.mjs'
import { pdfOf } from './pdf.mjs'

const test = withMiniclaw()

/** Colours are final only after all animations have ended. */
const STILL = { reducedMotion: 'reduce' }
const LIST = 'milk,2\n<img src=x onerror=alert(1)>\n'
const file = (name, content) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(content) })
const attached = page => page.locator('form').getByRole('list', { name: 'Attachments' })
const sent = page => page.getByRole('article', { name: 'You' }).getByRole('list', { name: 'Attachments' })

const accessible = async page => assert.deepEqual(await faults(page), [])

async function choose(page, ...files) {
  const opened = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Attach files' }).click()
  await (await opened).setFiles(files)
}

/** Fires a drop or a paste with this data in the page. */
const bring = (page, type, files, text = '') =>
  composer(page).evaluate(
    (element, [type, files, text]) => {
      const data = new DataTransfer()
      for (const { name, content, mime } of files) data.items.add(new File([content], name, { type: mime }))
      if (text) data.setData('text/plain', text)
      const given = { bubbles: true, cancelable: true }
      const event =
        type === 'paste'
          ? new ClipboardEvent(type, { ...given, clipboardData: data })
          : new DragEvent(type, { ...given, dataTransfer: data })
      return element.dispatchEvent(event)
    },
    [type, files, text],
  )

test('an attached file reaches the model and opens after a reload', async ({ app, open }) => {
  const page = await open(STILL)
  await choose(page, file('lists.csv', LIST), file('utils.py', 'def hello(): ...\n'))
  await attached(page)
    .getByText(/\d+ tokens/)
    .nth(1)
    .waitFor()
  await shot(page, 'attach-composer')
  await accessible(page)
  await page.reload()
  await attached(page)
    .getByRole('button', { name: /^utils\.py/ })
    .waitFor()
  await attached(page).getByRole('button', { name: 'Remove utils.py' }).press('Enter')
  assert.equal(await attached(page).getByRole('listitem').count(), 1)
  await say(page, 'What is on the list?')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  assert.equal(await attached(page).count(), 0)
  const asked = (await app.requests())
    .filter(body => body.tools)
    .at(-1)
    .messages.at(-1).content
  assert.equal(asked, `<attachment name="lists.csv">\n${LIST}</attachment>\n\nWhat is on the list?`)
  await page.reload()
  await sent(page)
    .getByRole('button', { name: /^lists\.csv/ })
    .click()
  const view = page.getByRole('dialog', { name: 'lists.csv' })
  assert.equal(await view.locator('pre').textContent(), LIST)
  assert.equal(await view.locator('img').count(), 0, 'a text is no page')
  await shot(page, 'attach-view')
  await accessible(page)
  await page.keyboard.press('Escape')
  await view.waitFor({ state: 'detached' })
})

test('the conversation accepts dropped files, and a file needs no text', async ({ app, open }) => {
  const page = await open({ ...STILL, theme: 'dark' })
  const files = [{ name: 'dropped.md', content: '# Plan\n', mime: 'text/markdown' }]
  await bring(page, 'dragenter', files)
  await page.getByText('Drop text, PDF, Office files or images to attach').waitFor()
  await shot(page, 'attach-drop-dark')
  await accessible(page)
  await bring(page, 'drop', files)
  await attached(page).getByText('dropped.md').waitFor()
  await page.getByText('Drop text, PDF, Office files or images to attach').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await sent(page).getByText('dropped.md').waitFor()
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  await shot(page, 'attach-sent-dark')
  await accessible(page)
  await answers(page).hover()
  await answers(page).getByRole('button', { name: 'Regenerate' }).click()
  await page.getByText('Version 2 of 2').waitFor({ state: 'attached' })
  await settled(page)
  await sent(page).getByText('dropped.md').waitFor()
  const asked = (await app.requests()).filter(body => body.tools).slice(-2)
  assert.equal(
    asked[1].messages.at(-1).content,
    asked[0].messages.at(-1).content,
    'asked again with the file',
  )
  await page.getByRole('article', { name: 'You' }).hover()
  await page.getByRole('button', { name: 'Edit and resend' }).click()
  await page.getByRole('textbox', { name: 'Edit and resend' }).fill('Shorter.')
  await page.keyboard.press('Enter')
  await page.getByText('Version 3 of 3').waitFor({ state: 'attached' })
  await sent(page).getByText('dropped.md').waitFor()
  await settled(page)
})

test('a pasted file is attached, and a long pasted text becomes a file and back', async ({ open }) => {
  const page = await open(STILL)
  assert.equal(
    await bring(
      page,
      'paste',
      [{ name: 'clip.txt', content: 'from the clipboard', mime: 'text/plain' }],
      'clip.txt',
    ),
    false,
  )
  await attached(page).getByText('clip.txt').waitFor()
  const cells = [{ name: 'image.png', content: 'x', mime: 'image/png' }]
  assert.equal(await bring(page, 'paste', cells, 'a\tb'), true, 'cells of a table are pasted as text')
  const long = Array.from({ length: 120 }, (_, n) => `line ${n}`).join('\n')
  assert.equal(await bring(page, 'paste', [], long), false)
  await attached(page).getByText('pasted text.txt').waitFor()
  assert.equal(await composer(page).inputValue(), '')
  await shot(page, 'attach-pasted')
  await accessible(page)
  await attached(page).getByRole('button', { name: 'Insert as text' }).click()
  assert.equal(await composer(page).inputValue(), long)
  assert.equal(await attached(page).getByRole('listitem').count(), 1)
  assert.equal(await bring(page, 'paste', [], 'short'), true, 'a short text is pasted as ever')
})

test('a file that is not a text is refused with advice, and a large text is offered to Knowledge', async ({
  open,
}) => {
  const page = await open(STILL)
  await choose(page, {
    name: 'report.exe',
    mimeType: 'application/octet-stream',
    buffer: Buffer.from([0x25, 0x50, 0xff, 0x00]),
  })
  await page
    .getByText(/report\.exe: Unsupported file type\. Attach text, PDF/)
    .first()
    .waitFor()
  await shot(page, 'attach-refused')
  await choose(page, file('large.txt', 'word '.repeat(60_000)))
  await page.getByRole('button', { name: 'Add to Knowledge' }).click()
  await page.getByText('knowledge/large.txt').first().waitFor()
  assert.equal(await attached(page).count(), 0)
})

test('the text of a PDF is attached, and a damaged one says so', async ({ app, open }) => {
  const page = await open(STILL)
  const pdf = (name, buffer) => ({ name, mimeType: 'application/pdf', buffer })
  await choose(page, pdf('birds.pdf', Buffer.from(pdfOf(['Linnets sing at dawn.']), 'latin1')))
  await attached(page)
    .getByRole('button', { name: /^birds\.pdf/ })
    .waitFor()
  await page
    .getByText(/The text of birds\.pdf is sent with your message/)
    .first()
    .waitFor()
  await shot(page, 'attach-pdf')
  await accessible(page)
  await choose(page, pdf('torn.pdf', Buffer.from('%PDF-1.4')))
  await page
    .getByText(/torn\.pdf/)
    .first()
    .waitFor()
  assert.equal(await attached(page).getByRole('listitem').count(), 1)
  await say(page, 'Which birds?')
  await answers(page).getByText('All right.').waitFor()
  const asked = (await app.requests()).filter(body => body.tools).at(-1)
  assert.match(JSON.stringify(asked), /birds\.pdf.*Linnets sing at dawn/)
})

test('each conversation has its own attachments, on a small screen too', async ({ app, open }) => {
  const page = await open({ ...STILL, ...MOBILE })
  await say(page, 'first')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  const here = new URL(page.url()).pathname
  await choose(page, file(`a ${'very '.repeat(20)}long name.md`, 'x'), file('b.md', 'y'.repeat(20_000)))
  await attached(page).getByText('b.md').waitFor()
  await attached(page)
    .getByText(/tokens/)
    .nth(1)
    .waitFor()
  await shot(page, 'attach-mobile')
  await accessible(page)
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth)
  assert.equal(wide, false, 'nothing sticks out')
  await page.goto(`${app.url}/`)
  await composer(page).waitFor()
  assert.equal(await attached(page).count(), 0)
  await page.goto(app.url + here)
  await until(
    () => attached(page).getByRole('listitem').count(),
    n => n === 2,
    'the files of that conversation',
  )
})

test('attachments work in Chinese and in dark mode, with a warning above the context limit', async ({
  open,
}) => {
  const page = await open({ ...STILL, ...MOBILE, lang: 'zh', theme: 'dark' })
  const opened = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: '添加文件' }).click()
  await (await opened).setFiles([file('日志.txt', '一二三四五 '.repeat(12_000)), file('b.md', 'b')])
  await page.getByText(/模型最多支持 32,768/).waitFor()
  await page.getByRole('button', { name: '移除 日志.txt' }).waitFor()
  await shot(page, 'attach-mobile-zh-dark')
  await accessible(page)
})
