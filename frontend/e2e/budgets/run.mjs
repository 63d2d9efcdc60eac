// The budgets of the page: `npm run budgets` gates what can be counted, whatever the speed and the load of the machine, and
// prints the times of a short answer; `npm run budgets -- --bench [--figures FILE]` measures and gates everything, with
// 20,000 tokens at 100 a second.
import { loadavg, setPriority } from 'node:os'
import { startBrowser, startMiniclaw } from '../harness.mjs'
import { Figures, round } from './figures.mjs'
import { fill, MESSAGES, pieces } from './material.mjs'
import { loads, openings } from './pages.mjs'
import { trees } from './project.mjs'
import { follow, readOn } from './stream.mjs'

if (!process.env.MINICLAW_BIN) {
  console.error('Set MINICLAW_BIN to the miniclaw binary that shall be measured.')
  process.exit(2)
}
const bench = process.argv.includes('--bench')
const path = process.argv[process.argv.indexOf('--figures') + 1]
const writes = process.argv.includes('--figures')
const only = name => !process.argv.includes('--only') || process.argv.includes(name)

/** Raises the priority of this process if that is allowed; child processes inherit it. */
function hurry() {
  try {
    setPriority(-5)
    return 'priority -5'
  } catch {
    return 'ordinary priority'
  }
}

/** How late timers fire, in ms: the effect of the machine's load on everything that is measured by the clock. */
async function lateness() {
  const late = []
  for (let n = 0; n < 200; n += 1) {
    const due = performance.now() + 5
    await new Promise(resolve => setTimeout(resolve, 5))
    late.push(performance.now() - due)
  }
  late.sort((a, b) => a - b)
  return `a timer of 5 ms is late by ${round(late[100])} ms, p95 ${round(late[190])}`
}

const LONG = { tokens: 20_000, rate: 100 }
const SHORT = { tokens: 1_500, rate: 100 }
const stream = bench ? LONG : SHORT
const READING = { count: 2_400, per_second: 400 }
const script = [
  {
    match: 'write at length',
    repeat: true,
    steps: [
      { tokens: { count: stream.tokens, per_second: stream.rate, pieces: pieces() } },
      { finish: 'stop' },
    ],
  },
  {
    match: 'while I read',
    repeat: true,
    steps: [{ tokens: { ...READING, pieces: pieces() } }, { finish: 'stop' }],
  },
]

const hurried = bench ? hurry() : 'ordinary priority'
const noise = async () => `load ${loadavg().map(round).join(' ')}; ${await lateness()}`
const app = await startMiniclaw({ replies: script })
const titles = await fill(app.home, 8)
const browser = await startBrowser()
const figures = new Figures()

console.log(`${hurried}; ${await noise()}`)
try {
  // Times, also those of the processor, depend on the machine and on what else it does: they are gated in `make bench`.
  const watched = !bench
  for (const [throttle, paint, ready, blocked, answer] of [
    [1, 800, 2000, 200, 100],
    [4, 1500, 2000, 800, 200],
  ]) {
    if (!only('load') || (throttle > 1 && !bench)) continue
    const got = await loads(browser, app, { throttle, times: bench ? 3 : 1 })
    const at = throttle > 1 ? `processor slowed ${throttle} times: ` : ''
    figures.add(`${at}first contentful paint`, got.paint, 'ms', { atMost: paint, watched })
    figures.add(`${at}editor ready, every part of the page has run`, got.ready, 'ms', {
      atMost: ready,
      watched,
    })
    figures.add(`${at}total blocking time`, got.blocked, 'ms', { atMost: blocked, watched })
    const count = `${got.count} interactions longer than a frame`
    figures.add(`${at}slowest answer to a key or click`, got.worst, 'ms', {
      atMost: answer,
      watched,
      note: count,
    })
    figures.add(`${at}layout shift`, got.shift, '', { atMost: 0.02 })
    if (throttle === 1) {
      figures.add('main thread until everything has run', got.cpu, 'ms', { note: 'of the processor' })
      figures.add('elements of the page, a file and a conversation open', got.nodes, '', { atMost: 5000 })
    }
  }
  if (only('open')) {
    const got = await openings(browser, app, titles.slice(1, bench ? 8 : 4))
    const note = `from the click to the last message painted; slowest ${round(got.worst)}`
    figures.add(`opening ${MESSAGES} messages, p50`, got.median, 'ms', { atMost: 300, watched, note })
    figures.add('the same, main thread', got.cpu, 'ms', { atMost: 300, watched, note: 'of the processor' })
  }
  // Only by the clock, so only in `make bench`.
  if (only('project') && bench) {
    const { tree, small, large } = await trees(browser, app, 9)
    const slowest = ({ worst }) =>
      `from the click, after a press of 50 ms, to the paint; slowest ${round(worst)}`
    figures.add('tree of a project with 100,000 files, p50', tree.median, 'ms', {
      atMost: 150,
      note: slowest(tree),
    })
    figures.add('opening a folder of 100 files in it, p50', small.median, 'ms', {
      atMost: 50,
      note: slowest(small),
    })
    figures.add('opening a folder of 50,000 files in it, p50', large.median, 'ms', { note: slowest(large) })
  }
  if (only('stream')) {
    const got = await follow(browser, app, { id: 'long-0', question: 'write at length', ...stream })
    const what = `${stream.tokens} tokens at ${stream.rate}/s into ${MESSAGES} messages`
    const parts = got.parts.map(([part, percent]) => `${part} ${round(percent)}`).join(', ')
    figures.add(`${what}: main thread`, got.cpu, '%', { atMost: 20, watched, note: `of a core; ${parts}` })
    figures.add('the same: layouts a second', got.layouts, '', {
      atMost: 60,
      note: 'fewer than frames and tokens',
    })
    figures.add('the same: longest task', got.longest, 'ms', {
      atMost: 100,
      watched,
      note: `${got.tasks} over 50 ms`,
    })
    figures.add('the same: tasks over 50 ms', got.tasks, '', { atMost: 20, watched })
    figures.add('the same: frames a second', got.fps, '', { atLeast: 58, watched })
    figures.add('the same: frames dropped', got.dropped, '%', { atMost: 1, watched })
    figures.add('the same: slowest answer to a key', got.worst, 'ms', {
      atMost: 100,
      watched,
      note: got.course,
    })
    figures.add('the same: layout shift', got.shift, '', { atMost: 0.02 })
    figures.add('the same: elements of the page at its end', got.nodes, '', { atMost: 5000 })
    figures.add('the same: end of the answer out of view', got.gap, 'px', { atMost: 0.9 })
  }
  if (only('read')) {
    const got = await readOn(browser, app, { id: 'long-7', question: 'while I read', seconds: 3 })
    const note = `the answer grew by ${round(got.grown)} px meanwhile`
    figures.add('a reader further up: text moved while an answer grows', got.moved, 'px', {
      atMost: 0.9,
      note,
    })
    figures.add('the same: the answer grew meanwhile', got.grown, 'px', { atLeast: 200 })
  }
  console.log(await noise())
  if (writes) await figures.write(path)
} finally {
  await browser.close()
  await app.stop()
}
const missed = figures.missed()
if (missed.length > 0) {
  console.error(`Over the budget: ${missed.join('; ')}`)
  process.exitCode = 1
}
