// Previews of code blocks: they draw, and do nothing else.
import assert from 'node:assert/strict'
import { faults, withMiniclaw } from './fixtures.mjs'
import { answers, MOBILE, say, settled, shot, until } from './harness.mjs'

const SVG = `<svg viewBox="0 0 120 60" onload="document.title='owned'">
  <style>.a { fill: #0a7; }</style>
  <rect class="a" width="120" height="60"/>
  <script>document.title = 'owned'</script>
  <image href="https://a.example/leak.png" width="9" height="9"/>
</svg>`
const HTML = `<style>h1 { color: rgb(1, 2, 3); }</style>
<h1 style="text-align: center" onclick="top.document.title='owned'">Hello</h1>
<script>top.document.title = 'owned'; fetch('https://a.example')</script>
<img src="https://a.example/x.png"><a href="https://a.example">away</a>
<form action="https://a.example"><button>send</button></form>`
const block = (language, code) => `\`\`\`${language}\n${code}\n\`\`\`\n\n`
const reply = `A drawing:\n\n${block('svg', SVG)}A page:\n\n${block('html', HTML)}`
const test = withMiniclaw({
  replies: [{ match: 'draw', repeat: true, steps: [{ text: reply }, { finish: 'stop' }] }],
})
const figure = (page, language) => answers(page).getByRole('figure', { name: `${language} code` })

// A request to another origin, a blocked one and an exception fail every test here.
test('a drawing and a page show when they are asked for, and nothing in them runs', async ({ open }) => {
  const page = await open()
  await say(page, 'draw')
  await settled(page)
  assert.equal(await page.locator('iframe').count(), 0)
  await figure(page, 'svg').getByRole('button', { name: 'Preview' }).click()
  const picture = figure(page, 'svg').getByRole('img', { name: 'Preview' })
  await until(
    () => picture.evaluate(image => image.complete && image.naturalWidth),
    width => width > 0,
    'the drawing',
  )
  await figure(page, 'html').getByRole('button', { name: 'Preview' }).click()
  const frame = page.frameLocator('iframe[title=Preview]')
  const heading = frame.getByRole('heading', { name: 'Hello' })
  await heading.waitFor()
  const look = await heading.evaluate(element => {
    const { color, textAlign } = getComputedStyle(element)
    return [color, textAlign]
  })
  assert.deepEqual(look, ['rgb(1, 2, 3)', 'center'])
  await heading.click()
  await frame.getByText('away').click()
  await frame.getByRole('button', { name: 'send' }).click()
  await heading.waitFor()
  assert.doesNotMatch(await page.title(), /owned/)
  assert.deepEqual(await faults(page), [])
  await shot(page, 'previews')
  await figure(page, 'html').getByRole('button', { name: 'Preview' }).click()
  assert.equal(await page.locator('iframe').count(), 0)
})

test('previews fit a phone, in the dark and in Chinese', async ({ open }) => {
  const page = await open({ ...MOBILE, lang: 'zh', theme: 'dark' })
  await page.getByRole('textbox', { name: '消息', exact: true }).fill('draw')
  await page.getByRole('button', { name: '发送' }).click()
  await page.getByRole('button', { name: '预览' }).first().click()
  await page.getByRole('img', { name: '预览' }).waitFor()
  assert.deepEqual(await faults(page), [])
  await shot(page, 'previews-mobile-zh-dark')
})
