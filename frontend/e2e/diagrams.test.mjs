// Mermaid diagrams: drawn in a frame without an origin, shown as a picture, and unable to do anything else.
import assert from 'node:assert/strict'
import { faults, LOOKS, withCanary } from './fixtures.mjs'
import { answers, say, settled, shot, until } from './harness.mjs'

const block = code => `\`\`\`mermaid\n${code}\n\`\`\`\n\n`
const FLOW = `flowchart LR
  Q([Question]) --> S{Search?}
  S -->|yes| K[(knowledge/)]
  S -->|no| M[Model]
  K --> M --> A([Answer 回答])`
const SEQUENCE = `sequenceDiagram
  participant You
  participant miniclaw
  You->>miniclaw: Which files?
  miniclaw-->>You: Three of them
  Note over You,miniclaw: Nothing left the machine`
const OTHERS = [
  'classDiagram\n  Animal <|-- Duck\n  Animal : +int age\n  class Duck{\n    +swim()\n  }',
  'stateDiagram-v2\n  [*] --> Idle\n  Idle --> Running: message\n  Running --> [*]',
  'erDiagram\n  SESSION ||--o{ MESSAGE : has',
  'gantt\n  title Plan\n  dateFormat YYYY-MM-DD\n  section A\n  Write :a1, 2026-01-01, 30d',
  'pie title Files\n  "memory" : 3\n  "knowledge" : 7',
  'flowchart TD\n  A((circle)) --> B{{hexagon}} --> C>flag]\n  subgraph S [Group]\n  D[/slant/] --> E(((double)))\n  end\n  B --> D',
  'mindmap\n  root((agent))\n    files\n    tools',
]
/** Every way in which a diagram might reach out or run something. The last ones are not valid, or cannot load a picture. */
const hostile = C => [
  `flowchart TD
  A["<img src='${C}/img' onerror='top.owned=1'>"] --> B["<script>top.owned=1</script>"]
  B --> D["<svg onload='top.owned=1'><image href='${C}/svg'/></svg>"]
  click A "javascript:top.owned=1"
  click B href "${C}/link" _top
  click D call owned()`,
  `%%{init: {"securityLevel": "loose", "htmlLabels": true, "flowchart": {"htmlLabels": true}, "themeCSS": "@import '${C}/import'; * { background: url(${C}/css) }", "fontFamily": "x; background: url(${C}/font)"}}%%
flowchart TD
  A["<iframe src='${C}/frame' srcdoc='<script>top.owned=1</script>'></iframe><b style='background:url(${C}/style)'>b</b>"] --> B
  click A "javascript:top.owned=1" _blank`,
  `---
config:
  securityLevel: loose
  themeVariables:
    primaryColor: "red; } * { background: url(${C}/variable)"
---
sequenceDiagram
  participant A as <img src=x onerror="top.owned=1">
  link A: Away @ javascript:top.owned=1
  A->>A: <foreignObject><body onload="top.owned=1"><link rel="stylesheet" href="${C}/sheet"></body></foreignObject>`,
  'classDiagram\n  class A["<img src=x onerror=top.owned=1>"]\n  click A href "javascript:top.owned=1"',
  'mindmap\n  root(("<img src=x onerror=top.owned=1>"))\n    a',
  `flowchart TD\n  A --> B\n  style A fill:url(${C}/fill)`,
  `flowchart TD\n  A --> B\n  classDef x background:url('${C}/class')\n  class B x`,
]
const DRAWN = 5
/** A picture in a diagram, which the policy does not let load. */
const PICTURE = C => `flowchart TD\n  A@{ img: "${C}/shape.png", label: "x" } --> B`
const WRONG = 'flowchart LR\n  A --> --> B'
const HUGE = `flowchart LR\n${'  A --> B\n'.repeat(3000)}`
const BIG = `flowchart LR
${Array.from({ length: 190 }, (_, n) => `  A${n % 60} --> A${(n * 37 + 11) % 60}\n`).join('')}`

const turn = (match, codes) => ({
  match,
  repeat: true,
  steps: [{ text: `Here:\n\n${codes.map(block).join('')}` }, { finish: 'stop' }],
})
const test = withCanary(({ url }) => ({
  replies: [
    turn('draw', [FLOW, SEQUENCE]),
    turn('others', OTHERS),
    turn('hostile', hostile(url)),
    turn('wrong', [WRONG, HUGE]),
    turn('big', [BIG]),
    turn('picture', [PICTURE(url)]),
  ],
}))

const figures = page => answers(page).getByRole('figure', { name: /^mermaid / })
const preview = figure => figure.getByRole('button', { name: /^(Preview|预览)$/ })
const picture = figure => figure.getByRole('img', { name: /^(Preview|预览)$/ })
async function ask(page, words) {
  await page.getByRole('textbox', { name: /^(Message|消息)$/ }).fill(words)
  await page.getByRole('button', { name: /^(Send|发送)$/ }).click()
  await figures(page).first().waitFor()
  await settled(page)
}
/** The width of a picture as the browser has decoded it: 0 if it is no image. */
const widthOf = async shown => {
  await shown.waitFor()
  return until(
    () => shown.evaluate(image => (image.complete ? image.naturalWidth : null)),
    width => width !== null,
    'the picture',
  )
}
const sourceOf = async shown => decodeURIComponent(await shown.getAttribute('src'))

for (const { look, given } of LOOKS)
  test(`diagrams are drawn when they are asked for: ${look}`, async ({ open }) => {
    const page = await open(given)
    const loaded = []
    page.on('request', request => loaded.push(request.url()))
    await ask(page, 'draw')
    await page.locator('figure pre').first().waitFor()
    assert.deepEqual(
      loaded.filter(url => /diagram/i.test(url)),
      [],
    )
    for (const at of [0, 1]) {
      await preview(figures(page).nth(at)).click()
      assert.ok((await widthOf(picture(figures(page).nth(at)))) > 200)
    }
    assert.match(await sourceOf(picture(figures(page).first())), />Question</)
    assert.equal(await page.locator('iframe').count(), 0, 'the frame is gone')
    assert.deepEqual(await faults(page), [])
    await shot(page, `diagrams-${look}`)
    await preview(figures(page).first()).click()
    await figures(page).first().getByText('flowchart LR').waitFor()
  })

test('every common kind of diagram is drawn', async ({ open }) => {
  const page = await open()
  await ask(page, 'others')
  for (const [at, code] of OTHERS.entries()) {
    await preview(figures(page).nth(at)).click()
    assert.ok((await widthOf(picture(figures(page).nth(at)))) > 50, code)
  }
  await shot(page, 'diagrams-others')
})

test('a diagram follows the theme', async ({ open }) => {
  const page = await open()
  await ask(page, 'draw')
  await preview(figures(page).first()).click()
  const light = await sourceOf(picture(figures(page).first()))
  await page.evaluate(() => {
    document.documentElement.dataset.theme = 'dark'
  })
  await until(
    async () => (await picture(figures(page).first()).count()) && sourceOf(picture(figures(page).first())),
    now => now && now !== light,
    'the dark diagram',
  )
})

/** What might run, load or lead away in a picture, if it were shown in another way. */
function dangerous(source) {
  const svg = new DOMParser().parseFromString(source.slice(source.indexOf(',') + 1), 'image/svg+xml')
  const elements = [...svg.querySelectorAll('*')]
  return elements.flatMap(element => [
    ...(/^(script|iframe|object|embed|parsererror|img|image|link|animate|set)$/i.test(element.localName)
      ? [element.outerHTML]
      : []),
    ...[...element.attributes]
      .filter(({ name, value }) => /^on/i.test(name) || (/href|src/i.test(name) && !value.startsWith('#')))
      .map(({ name, value }) => `${name}=${value}`),
  ])
}

/**
 * A page beside those of `open`, which fail when a policy blocks something: in the frame, policies are expected to.
 * Returns what the page itself reports.
 */
async function watched(browser, app) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  const page = await context.newPage()
  const reports = []
  page.on('pageerror', error => reports.push(error.message))
  page.on('console', message => {
    const ofFrame = /\/assets\/diagram-[^/]+\.html$/.test(message.location().url)
    if (/security policy/i.test(message.text()) && !ofFrame) reports.push(message.text())
  })
  await page.goto(app.url)
  return { page, context, reports }
}

test('a hostile diagram runs nothing and reaches nothing', async ({ browser, app, canary }) => {
  const { page, context, reports } = await watched(browser, app)
  await ask(page, 'hostile')
  // A document without a policy, which would report the styles.
  const blank = await context.newPage()
  const count = hostile('').length
  for (let at = 0; at < count; at++) {
    const figure = figures(page).nth(at)
    await preview(figure).click()
    await picture(figure).or(figure.getByRole('alert')).waitFor()
    assert.equal(await picture(figure).count(), at < DRAWN ? 1 : 0, hostile('')[at])
    if (at < DRAWN) {
      assert.deepEqual(await blank.evaluate(dangerous, await sourceOf(picture(figure))), [])
      await picture(figure).click()
    }
  }
  await shot(page, 'diagrams-hostile')
  await canary.harmless(page, answers(page))
  assert.equal(new URL(page.url()).pathname.startsWith('/s/'), true)
  assert.deepEqual(reports, [])
  await context.close()
})

test('a wrong diagram says why, with its code', async ({ open }) => {
  const page = await open()
  await ask(page, 'wrong')
  const [wrong, huge] = [figures(page).first(), figures(page).nth(1)]
  await preview(wrong).click()
  await wrong.getByRole('alert').getByText('Line 2 isn’t valid Mermaid code.').waitFor()
  await wrong.getByText('A --> --> B').first().waitFor()
  await preview(huge).click()
  await huge.getByRole('alert').getByText('more than 20,000 characters').waitFor()
  assert.equal(await page.locator('iframe').count(), 0)
  assert.deepEqual(await faults(page), [])
  await shot(page, 'diagrams-wrong')
})

test('a picture in a diagram is not loaded', async ({ browser, app, canary }) => {
  const { page, context, reports } = await watched(browser, app)
  await ask(page, 'picture')
  await preview(figures(page).first()).click()
  await figures(page).first().getByRole('alert').getByText('can’t be drawn').waitFor()
  await canary.harmless(page, answers(page))
  assert.deepEqual(reports, [])
  await context.close()
})

/** Runs `act`, which makes a frame draw, and returns the longest time in milliseconds in which the page stood still
 * until that frame was gone. */
async function longestStandstill(page, act) {
  await page.evaluate(() => {
    window.standstill = new Promise(resolve => {
      let most = 0
      let last = performance.now()
      let drawn = false
      const frames = new MutationObserver(changes => {
        drawn ||= changes.some(({ addedNodes }) => [...addedNodes].some(node => node.nodeName === 'IFRAME'))
      })
      frames.observe(document, { childList: true, subtree: true })
      const timer = setInterval(() => {
        most = Math.max(most, performance.now() - last)
        last = performance.now()
        if (!drawn || document.querySelector('iframe')) return
        clearInterval(timer)
        frames.disconnect()
        resolve(most)
      }, 20)
    })
  })
  await act()
  return page.evaluate(() => window.standstill)
}

test('the page responds while a big diagram is drawn', async ({ open }) => {
  const page = await open()
  await ask(page, 'big')
  const figure = figures(page).first()
  const longest = await longestStandstill(page, async () => {
    await preview(figure).click()
    await say(page, 'hello')
  })
  await picture(figure).or(figure.getByRole('alert')).waitFor()
  assert.ok(longest < 6000, `the page stood still for ${longest} ms`)
})

test('a diagram that takes too long is given up, and the page responds meanwhile', async ({ open }) => {
  const page = await open()
  await page.route('**/assets/diagram-*.html', route =>
    route.fulfill({
      contentType: 'text/html',
      headers: { 'Content-Security-Policy': 'sandbox allow-scripts' },
      body: '<script>for (;;);</script>',
    }),
  )
  await ask(page, 'big')
  const figure = figures(page).first()
  const longest = await longestStandstill(page, async () => {
    await preview(figure).click()
    await figure.getByRole('alert').getByText('took too long').waitFor()
  })
  assert.ok(longest < 6000, `the page stood still for ${longest} ms`)
  assert.equal(await page.locator('iframe').count(), 0)
  await figure.getByText('flowchart LR').waitFor()
})
