// A real miniclaw with a home of its own, a scripted model, and a real browser.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { chromium } from '@playwright/test'

const BIN = process.env.MINICLAW_BIN
const PATIENCE = 15_000

/** Only what the tests pass: a key in the tester's own environment must not reach the server. */
const env = extra => ({ PATH: process.env.PATH, HOME: process.env.HOME, LANG: 'C.UTF-8', ...extra })

/** Starts the binary and waits for the line that contains its address. */
async function launch(args, extraEnv = {}) {
  const child = spawn(BIN, args, { env: env(extraEnv), stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  child.stderr.on('data', data => {
    log += data
  })
  const lines = createInterface({ input: child.stdout })
  const said = []
  lines.on('line', line => said.push(line))
  const url = await new Promise((resolve, reject) => {
    const fail = why => reject(new Error(`miniclaw ${args[0]} ${why}\n${log}`))
    const timer = setTimeout(() => fail('said nothing'), PATIENCE)
    child.once('error', error => fail(error.message))
    child.once('exit', code => fail(`ended with ${code}`))
    lines.on('line', line => {
      const found = /^listening on (http:\/\/\S+)/.exec(line)
      if (!found) return
      clearTimeout(timer)
      resolve(found[1].replace(/\/$/, ''))
    })
  })
  const stop = (signal = 'SIGTERM') =>
    new Promise(resolve => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve()
      child.removeAllListeners('exit')
      child.once('exit', resolve)
      child.kill(signal)
    })
  return { url, stop, log: () => log, said: () => said }
}

const ALLOWING = 'approvals: {effects: {write: unattended, execute: unattended, network: unattended}}\n'

/** The model's replies to prompts that a test has not scripted. */
const OTHERWISE = [
  { match: 'title', repeat: true, steps: [{ text: 'A short name' }, { finish: 'stop' }] },
  { repeat: true, steps: [{ text: 'All right.' }, { finish: 'stop' }] },
]

/** `env` are variables of the server; by default it has no embedding model, even if this machine has one. */
export async function startMiniclaw({ replies = [], env: extra = {}, config = ALLOWING, flags = [] } = {}) {
  const root = await mkdtemp(join(tmpdir(), 'miniclaw-e2e-'))
  const home = join(root, 'home')
  const script = join(root, 'script.json')
  await writeFile(script, JSON.stringify({ replies: [...replies, ...OTHERWISE] }))
  await promisify(execFile)(BIN, ['init', home], { env: env() })
  // No call needs an approval, unless a test wants that.
  await writeFile(join(home, 'config.yml'), config)
  const mock = await launch(['mock-llm', '--script', script, '--port', '0'])
  const serve = port =>
    launch(['serve', '--home', home, '--port', port, ...flags], {
      OPENAI_API_KEY: 'test',
      OPENAI_BASE_URL: `${mock.url}/v1`,
      OPENAI_MODEL: 'mock',
      MINICLAW_MODELS: join(root, 'no models'),
      ...extra,
    })
  let server = await serve('0')
  return {
    url: server.url,
    provider: `${mock.url}/v1`,
    home,
    /** Kills the server as a crash would, runs `meanwhile`, and starts it again on the same port. */
    restart: async (meanwhile = async () => {}) => {
      const { port } = new URL(server.url)
      await server.stop('SIGKILL')
      await meanwhile()
      server = await serve(port)
    },
    /** The one-time link of a server that was started with --token. */
    link: async () => {
      const line = await until(
        () => server.said().find(line => line.startsWith('open ')),
        line => line !== undefined,
        'the link',
      )
      return line.split(' ')[1]
    },
    /** The code that the first account on a server for several people needs. */
    setupCode: async () => {
      const line = await until(
        () => server.said().find(line => line.includes('setup code: ')),
        line => line !== undefined,
        'the setup code',
      )
      return line.split('setup code: ')[1].trim()
    },
    requests: async () => (await fetch(`${mock.url}/requests`)).json(),
    openGate: name => fetch(`${mock.url}/gates/${name}`, { method: 'POST' }),
    stop: async () => {
      await server.stop()
      await mock.stop()
      await rm(root, { recursive: true, force: true })
    },
  }
}

const DESKTOP = { width: 1440, height: 900 }
export const MOBILE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

/** Debian's Chromium without windows: the same engine, in two thirds of the processor's time. */
export const BROWSER = {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    // A process for each site, as in the whole one: a frame that hangs must not take the page with it.
    '--site-per-process',
    // With an inspector attached, as in a driven browser, V8 resolves the source position of each error, and React creates
    // some errors when it is loaded, so everything is parsed once more. If positions are resolved from the start, the cost
    // is the same as for a person, whose browser never does this.
    '--js-flags=--no-enable-lazy-source-positions',
  ],
}

/** The whole Chromium outside the test runner, for measurements: it's what people use. */
export const startBrowser = () => chromium.launch({ executablePath: '/usr/bin/chromium', args: BROWSER.args })

const messageBox = lang => page =>
  page.getByRole('textbox', { name: lang === 'zh' ? '消息' : 'Message', exact: true })

/**
 * A page that watches for faults: a request to another origin, a violation of the content security policy or an
 * exception makes `close` fail. `prepare` runs before the page is loaded; `ready` locates the element that shows that
 * it is.
 */
export async function openPage(browser, app, given = {}) {
  const { path = '/', theme = 'light', lang = 'en', prepare, ready = messageBox(lang), ...options } = given
  const context = await browser.newContext({ viewport: DESKTOP, reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE)
  const faults = []
  page.on('pageerror', error => faults.push(`threw: ${error.message}`))
  page.on('console', message => {
    const policy = /content security policy/i.test(message.text())
    // A pane that breaks takes nothing else with it, and logs the error here.
    const broke = message.type() === 'error' && /\n\s+at /.test(message.text())
    if (policy || broke) faults.push(message.text())
    if (broke) console.error(message.text())
  })
  page.on('request', request => {
    const url = new URL(request.url())
    if (url.protocol.startsWith('http') && url.origin !== app.url) faults.push(`left the origin: ${url}`)
  })
  await page.addInitScript(
    ([t, l]) => {
      // A sandboxed frame has no storage, but runs this script too.
      if (window !== top) return
      localStorage.setItem('mc.theme', t)
      localStorage.setItem('mc.lang', l)
    },
    [theme, lang],
  )
  await prepare?.(page)
  await page.goto(app.url + path)
  await ready(page).waitFor()
  const close = async () => {
    await context.close()
    assert.deepEqual(faults, [])
  }
  return { page, close }
}

export const composer = page => page.getByRole('textbox', { name: 'Message', exact: true })
export const answers = page => page.getByRole('article', { name: 'miniclaw', exact: true })

export async function say(page, text) {
  await composer(page).fill(text)
  // With an on-screen keyboard Enter inserts a line break.
  await composer(page).press(page.viewportSize().width < 768 ? 'Control+Enter' : 'Enter')
}

/** Waits until the work has ended: the send button has replaced the stop button. */
export const settled = page => page.getByRole('button', { name: /^(Send|发送)$/ }).waitFor()

/** Expands the tool calls of an answer after its work has ended: until then they are expanded by default. */
export const openCalls = answer => answer.locator('details.chain:not([open]) > summary').click()

/** Polls `read` until `check` is true of its value. */
export async function until(read, check, what) {
  const end = Date.now() + PATIENCE
  for (;;) {
    const value = await read()
    if (check(value)) return value
    if (Date.now() > end) throw new Error(`waited in vain for ${what}; last seen: ${JSON.stringify(value)}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

/** Finishes the animations of what opens or appears; a spinner never ends, and a mark fades slowly. */
export const finishAnimations = page =>
  page.evaluate(() => {
    for (const animation of document.getAnimations())
      if (animation.effect.getComputedTiming().endTime <= 500) animation.finish()
  })

export async function shot(page, name) {
  if (!process.env.SHOTS) return
  await finishAnimations(page)
  await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) })
}

/** Sends a request to the server outside the page, and returns the JSON of the response. */
export async function ask(app, path, init) {
  const answer = await fetch(app.url + path, init)
  assert.ok(answer.ok, `${path}: ${answer.status}`)
  return answer.json()
}

export const searchFor = (app, query, folder = 'knowledge') =>
  ask(app, `/api/retrieval/search?${new URLSearchParams({ query, folder, k: 3, candidates: 50 })}`)

/** The hits in a document that was just added: a search waits until the document is read, but not for long. */
export const isRead = (app, word) =>
  until(
    () => searchFor(app, word),
    ({ hits }) => hits.length > 0,
    `the document with ${word}`,
  )
