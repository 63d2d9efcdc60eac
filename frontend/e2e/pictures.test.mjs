import assert from 'node:assert/strict'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'
import { faults, withMiniclaw } from './fixtures.mjs'
import { answers, ask, MOBILE, say, settled, shot, until } from './harness.mjs'

const asking = `find_local_models: false
models:
  - {id: eyes, name: Eyes, api_url: '\${OPENAI_BASE_URL}', api_key: x, vision: true}
default_model: eyes
`

/** A PNG of one colour. */
function png(width, height) {
  const chunk = (kind, data) => {
    const typed = Buffer.concat([Buffer.from(kind), data])
    const frame = Buffer.alloc(8)
    frame.writeUInt32BE(data.length, 0)
    frame.writeUInt32BE(crc32(typed), 4)
    return Buffer.concat([frame.subarray(0, 4), typed, frame.subarray(4)])
  }
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0])
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  const row = Buffer.from([0, ...Array(width).fill([0x22, 0xaa, 0x66]).flat()])
  const data = deflateSync(Buffer.concat(Array(height).fill(row)))
  const parts = [chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...parts])
}

const READ = { items: [{ path: 'plot.png' }, { path: 'cut.png' }] }
const test = withMiniclaw({
  config: asking,
  replies: [
    {
      match: 'look at the plot',
      steps: [{ tool_call: { id: 'r1', name: 'read_file', arguments: READ } }, { finish: 'tool_calls' }],
    },
  ],
  prepare: async app => {
    const plot = png(640, 360)
    await writeFile(join(app.home, 'scratch/plot.png'), plot)
    await writeFile(join(app.home, 'scratch/cut.png'), plot.subarray(0, 60))
  },
})

const STILL = { reducedMotion: 'reduce' }
const attached = (page, name = 'Attachments') => page.locator('form').getByRole('list', { name })
const sent = page => page.getByRole('article', { name: 'You' }).getByRole('list', { name: 'Attachments' })

const accessible = async page => assert.deepEqual(await faults(page), [])

/** Fires a paste or a drop of a picture that is drawn in the page. */
const bring = (page, type, { name, mime, width, height }) =>
  page.locator('[data-composer]').evaluate(
    async (element, { type, name, mime, width, height }) => {
      const canvas = Object.assign(document.createElement('canvas'), { width, height })
      const context = canvas.getContext('2d')
      context.fillStyle = '#2a6'
      context.fillRect(0, 0, width, height)
      context.fillStyle = '#fc3'
      context.fillRect(width / 4, height / 4, width / 2, height / 2)
      const blob = await new Promise(done => canvas.toBlob(done, mime))
      const data = new DataTransfer()
      data.items.add(new File([blob], name, { type: mime }))
      const given = { bubbles: true, cancelable: true }
      const event =
        type === 'paste'
          ? new ClipboardEvent(type, { ...given, clipboardData: data })
          : new DragEvent(type, { ...given, dataTransfer: data })
      element.dispatchEvent(event)
    },
    { type, name, mime, width, height },
  )

/** Waits until a picture is loaded and decoded. */
const shown = image =>
  until(
    () => image.evaluate(i => i.complete && i.naturalWidth),
    n => n > 0,
    'the picture',
  )

const lastAsked = async app =>
  (await app.requests())
    .filter(body => body.tools)
    .at(-1)
    .messages.at(-1).content

test('a pasted picture is scaled down, reaches the model, and enlarges after a reload', async ({
  app,
  open,
}) => {
  const page = await open(STILL)
  await bring(page, 'paste', { name: 'image.png', mime: 'image/png', width: 3136, height: 1200 })
  const chip = attached(page).getByRole('img', { name: 'image.png' })
  await shown(chip)
  await attached(page)
    .getByText(/1,?\d* tokens|\d+ tokens/)
    .waitFor()
  await bring(page, 'drop', { name: 'photo.jpg', mime: 'image/jpeg', width: 300, height: 400 })
  await shown(attached(page).getByRole('img', { name: 'photo.jpg' }))
  await shot(page, 'picture-composer')
  await accessible(page)
  await page.reload()
  await shown(attached(page).getByRole('img', { name: 'photo.jpg' }))
  await say(page, 'What is this?')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  assert.equal(await attached(page).count(), 0)
  const content = await lastAsked(app)
  assert.ok(Array.isArray(content), content)
  const [text, first, second] = content
  assert.equal(text.text, '[picture 1: image.png]\n[picture 2: photo.jpg]\n\nWhat is this?')
  const size = await page.evaluate(async url => {
    const image = Object.assign(new Image(), { src: url })
    await image.decode()
    return [image.naturalWidth, image.naturalHeight]
  }, first.image_url.url)
  assert.deepEqual(size, [1568, 600])
  assert.match(second.image_url.url, /^data:image\/jpeg;base64,/)
  await page.reload()
  const seen = sent(page).getByRole('img', { name: 'image.png' })
  await shown(seen)
  await shown(sent(page).getByRole('img', { name: 'photo.jpg' }))
  await shot(page, 'picture-sent')
  await accessible(page)
  await sent(page).getByRole('button', { name: 'image.png' }).click()
  const view = page.getByRole('dialog', { name: 'image.png' })
  await shown(view.getByRole('img', { name: 'image.png' }))
  await view.getByText('1568 × 600 pixels').waitFor()
  await shot(page, 'picture-view')
  await accessible(page)
  const width = async () => (await view.getByRole('img', { name: 'image.png' }).boundingBox()).width
  const fitting = await width()
  await view.getByRole('button', { name: 'Zoom in' }).click()
  await until(width, now => now > fitting * 1.4, 'the picture to grow')
  await view.getByRole('region', { name: 'image.png' }).hover()
  await page.mouse.wheel(0, -200)
  await until(width, now => now > fitting * 2, 'the wheel to enlarge it')
  await shot(page, 'picture-zoomed')
  await accessible(page)
  await page.keyboard.press('0')
  await until(width, now => now === fitting, 'the picture to fit')
  await page.keyboard.press('Escape')
  await view.waitFor({ state: 'detached' })
  const opener = sent(page).getByRole('button', { name: 'image.png' })
  await until(
    () => opener.evaluate(button => button === document.activeElement),
    back => back,
    'the focus to return',
  )

  await answers(page).hover()
  await answers(page).getByRole('button', { name: 'Regenerate' }).click()
  await page.getByText('Version 2 of 2').waitFor({ state: 'attached' })
  await settled(page)
  assert.deepEqual(await lastAsked(app), [text, first, second], 'asked again with the same pictures')
  await shown(seen)

  const folder = join(app.home, 'sessions/pictures', new URL(page.url()).pathname.split('/')[2])
  const png = (await readdir(folder)).find(name => name.endsWith('.png'))
  await rm(join(folder, png))
  const path = new URL(page.url()).pathname
  // A browser that has not loaded it: the address contains the hash of the content, so another browser has it cached.
  const other = await open({ ...STILL, path })
  await sent(other).getByText('image.png: file is missing or was changed').waitFor()
  await shown(sent(other).getByRole('img', { name: 'photo.jpg' }))
  await shot(other, 'picture-missing')
  await accessible(other)
})

test('a model without vision is reported before anything is sent', async ({ app, open }) => {
  const page = await open({ ...STILL, ...MOBILE, theme: 'dark' })
  await say(page, 'first')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  const session = new URL(page.url()).pathname.split('/')[2]
  const chosen = await ask(app, `/api/sessions/${session}/model`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ model: 'other/mock' }),
  })
  assert.equal(chosen.error, undefined)
  await page.reload()
  await bring(page, 'paste', { name: 'image.png', mime: 'image/png', width: 60, height: 40 })
  await shown(attached(page).getByRole('img', { name: 'image.png' }))
  await page.getByText(/mock doesn’t support images\. Choose another model/).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled(), true)
  await shot(page, 'picture-blind-mobile-dark')
  await accessible(page)
  await attached(page).getByRole('button', { name: 'Remove image.png' }).click()
  await page.getByText(/cannot see pictures/).waitFor({ state: 'detached' })
})

test('the row of a call shows the pictures that it read', async ({ app, open }) => {
  const page = await open(STILL)
  await page.getByRole('button', { name: /^Works in: / }).click()
  await page.getByRole('option', { name: /^scratch/ }).click()
  await say(page, 'look at the plot')
  await answers(page).getByText('All right.').waitFor()
  await settled(page)
  const [text, picture] = await lastAsked(app)
  assert.match(text.text, /\[picture 1: \/plot\.png\]$/)
  assert.match(picture.image_url.url, /^data:image\/png;base64,/)
  await page.reload()
  // The chain is open already, because a call in it failed.
  await answers(page).getByText('Read 2 files').click()
  const pictures = answers(page).getByRole('list', { name: 'Images that were read' })
  await shown(pictures.getByRole('img', { name: '/plot.png' }))
  await shot(page, 'picture-read')
  await accessible(page)
  await pictures.getByRole('button', { name: '/plot.png' }).click()
  await page.getByRole('dialog', { name: '/plot.png' }).getByText('640 × 360 pixels').waitFor()
})

test('pictures work in Chinese, on a small screen and in dark mode', async ({ open }) => {
  const page = await open({ ...STILL, ...MOBILE, lang: 'zh', theme: 'dark' })
  await bring(page, 'paste', { name: '图.webp', mime: 'image/webp', width: 800, height: 2000 })
  await shown(attached(page, '附件').getByRole('img', { name: '图.webp' }))
  await page.locator('[data-composer]').fill('这是什么？')
  await page.getByRole('button', { name: '发送', exact: true }).click()
  await answers(page).getByText('All right.').waitFor()
  const seen = page.getByRole('article').getByRole('img', { name: '图.webp' })
  await shown(seen)
  await shot(page, 'picture-sent-mobile-zh-dark')
  await accessible(page)
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth)
  assert.equal(wide, false, 'nothing sticks out')
  await page.getByRole('button', { name: '图.webp' }).click()
  await shown(page.getByRole('dialog', { name: '图.webp' }).getByRole('img'))
  await shot(page, 'picture-view-mobile-zh-dark')
})
