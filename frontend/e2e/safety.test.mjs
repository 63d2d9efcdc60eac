// What hostile text and hostile addresses must not do: load anything from elsewhere, run anything, connect anywhere.
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withCanary } from './fixtures.mjs'
import { answers, say, settled, until } from './harness.mjs'

const repliesOf = ({ url: C, hostile: HOSTILE }) => [
  {
    match: 'Give this conversation a title',
    repeat: true,
    steps: [{ text: `<img src="${C}/title">` }, { finish: 'stop' }],
  },
  {
    match: 'show me',
    steps: [
      { thinking: HOSTILE },
      { text: HOSTILE },
      { tool_call: { id: 'c1', name: 'read_file', arguments: { path: 'knowledge/hostile.md' } } },
      { tool_call: { id: 'c2', name: 'read_file', arguments: { path: `<img src="${C}/argument">` } } },
      {
        tool_call: {
          id: 'c3',
          name: 'terminal',
          arguments: { command: `echo '<img src="${C}/out">'; cat ../knowledge/hostile.md` },
        },
      },
      { finish: 'tool_calls' },
    ],
  },
  { match: 'show me', steps: [{ text: `${HOSTILE}\n\nThe end.` }, { finish: 'stop' }] },
]
const test = withCanary(canary => ({
  replies: repliesOf(canary),
  prepare: async app => {
    const { url: C, hostile: HOSTILE } = canary
    await writeFile(join(app.home, 'knowledge/hostile.md'), HOSTILE)
    await writeFile(join(app.home, 'memory/MEMORY.md'), HOSTILE)
    await mkdir(join(app.home, 'skills/hostile'), { recursive: true })
    const front = `---\nname: '<img src="${C}/skill">'\ndescription: '<img src="${C}/described">'\n---\n${HOSTILE}`
    await writeFile(join(app.home, 'skills/hostile/SKILL.md'), front)
  },
}))

const owned = page => page.evaluate(() => window.owned)

test('hostile text loads and runs nothing, wherever it is shown', async ({ canary, open }) => {
  const page = await open()
  await say(page, `show me ${canary.hostile}`)
  await answers(page).getByText('The end.').waitFor()
  await settled(page)
  // Expands everything that is collapsed.
  for (const folded of await page.locator('[aria-expanded="false"]').all()) {
    if (await folded.isVisible()) await folded.click({ timeout: 2_000 }).catch(() => undefined)
  }
  await until(
    () => page.title(),
    title => title.includes('<img'),
    'the session to be named',
  ).catch(() => undefined)
  // No link leads to a script, and a link to a new tab has `noopener`.
  const links = await page.locator('a[href]').evaluateAll(all => all.map(a => [a.protocol, a.rel, a.target]))
  assert.ok(links.length > 0)
  for (const [protocol, rel, target] of links) {
    assert.match(protocol, /^(https?|mailto):$/)
    if (target === '_blank') assert.match(rel, /noopener/)
  }
  for (const tab of await page.getByRole('tab').all()) {
    if (await tab.isVisible()) await tab.click({ timeout: 2_000 }).catch(() => undefined)
  }
  const tags =
    'iframe, object, embed, base:not([href="/"]), video, audio, form[action], meta[http-equiv=refresh], img[src^="http"]'
  const found = await page.locator(tags).evaluateAll(all => all.map(element => element.outerHTML))
  assert.deepEqual(found, [])
  assert.equal(await owned(page), undefined)
  await page.reload()
  await answers(page).getByText('The end.').waitFor()
  assert.equal(await owned(page), undefined)
  assert.deepEqual(canary.hits, [])
})

test('a file with hostile text opens as text', async ({ canary, open }) => {
  const page = await open({ path: '/?file=knowledge/hostile.md' })
  await page.locator('.cm-content').first().waitFor()
  assert.equal(await owned(page), undefined)
  assert.deepEqual(canary.hits, [])
})

test('the policy blocks injected content, and the negative control reaches the listener', async ({
  app,
  browser,
  canary,
}) => {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(app.url)
  await page
    .getByRole('textbox', { name: /Message|消息/ })
    .first()
    .waitFor()
  const directives = ['img-src', 'frame-src', 'script-src-elem', 'connect-src']
  await page.evaluate(
    async ([url, wanted]) => {
      const seen = []
      document.addEventListener('securitypolicyviolation', event => seen.push(event.effectiveDirective))
      const host = document.createElement('div')
      document.body.append(host)
      host.innerHTML = `<img src="${url}/injected" onerror="window.owned=1"><iframe src="${url}/frame"></iframe>`
      const script = document.createElement('script')
      script.textContent = 'window.owned=1'
      document.body.append(script)
      await fetch(`${url}/fetch`).catch(() => undefined)
      try {
        new WebSocket(url.replace('http', 'ws'))
      } catch {}
      // Each of them must be reported; otherwise this loops until the test times out.
      while (!wanted.every(directive => seen.includes(directive)))
        await new Promise(resolve => setTimeout(resolve, 20))
    },
    [canary.url, directives],
  )
  assert.equal(await owned(page), undefined)
  assert.deepEqual(canary.hits, [])
  // Negative control: the same text on a page without a policy fetches and runs.
  await page.goto(`${canary.url}/page`)
  await until(
    () => canary.hits,
    hits => hits.includes('/html') && hits.includes('/css') && hits.includes('/onerror'),
    'the control to come by',
  )
  assert.equal(await owned(page), 1)
  await context.close()
  canary.hits.length = 0
})

test('a URL names no other server and no token', async ({ canary, open }) => {
  const { url: C } = canary
  const ws = C.replace('http', 'ws')
  for (const path of [
    `/?gatewayUrl=${encodeURIComponent(ws)}&token=stolen`,
    `/?server=${encodeURIComponent(C)}&api=${encodeURIComponent(C)}&baseUrl=${encodeURIComponent(C)}`,
    `/#gatewayUrl=${encodeURIComponent(ws)}&token=stolen`,
    `/s/x?token=stolen&url=${encodeURIComponent(C)}`,
    `/#code=stolen&server=${encodeURIComponent(C)}`,
  ]) {
    const page = await open({ path })
    const kept = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
    )
    assert.ok(!kept.includes('stolen') && !kept.includes('127.0.0.1'), `${path}: ${kept}`)
    assert.deepEqual(canary.hits, [], path)
  }
})
