// The metrics of a page in use: paints, shifts, long tasks, interactions, frames; and the CPU time of its main
// thread, which does not depend on the machine's load.

/** Runs in the page before any of its scripts. */
function observe() {
  const seen = { tasks: [], shifts: [], events: [], frames: [], ready: null }
  window.__seen = seen
  const watch = (type, take, more = {}) =>
    new PerformanceObserver(list => list.getEntries().forEach(take)).observe({
      type,
      buffered: true,
      ...more,
    })
  watch('longtask', entry => seen.tasks.push([entry.startTime, entry.duration]))
  watch('layout-shift', entry => {
    if (!entry.hadRecentInput) seen.shifts.push([entry.startTime, entry.value])
  })
  const event = ({ interactionId, duration, name, startTime, processingStart, processingEnd }) =>
    interactionId &&
    seen.events.push([interactionId, duration, name, processingStart - startTime, processingEnd - startTime])
  watch('event', event, { durationThreshold: 16 })
  seen.countFrames = () => {
    seen.frames = []
    const frame = at => {
      seen.frames?.push(at)
      if (seen.frames) requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
  }
}

/**
 * Runs in the page before any of its scripts: `__timeClick(shown)` measures from the next click to the paint of the first frame in
 * which `shown` is true, and leaves the milliseconds in `__painted`.
 */
export function timeClicks() {
  window.__timeClick = shown => {
    window.__painted = null
    const begin = click => {
      const painted = () => {
        const channel = new MessageChannel()
        channel.port1.onmessage = () => {
          window.__painted = performance.now() - click.timeStamp
        }
        channel.port2.postMessage(null)
      }
      // A message sent in a callback of a frame arrives after its paint.
      const look = () => (shown() ? painted() : requestAnimationFrame(look))
      requestAnimationFrame(look)
    }
    addEventListener('click', begin, { capture: true, once: true })
  }
}

/** `prepare` has to be passed to `openPage`; the other methods then read the metrics. */
export function watching(throttle = 1) {
  const watch = {
    async prepare(page) {
      const session = await page.context().newCDPSession(page)
      await session.send('Performance.enable', { timeDomain: 'threadTicks' })
      if (throttle > 1) await session.send('Emulation.setCPUThrottlingRate', { rate: throttle })
      await page.addInitScript(observe)
      await page.addInitScript(timeClicks)
      watch.session = session
      watch.page = page
    },
    /** CPU time of the main thread so far, in seconds: in total, and for scripts, styles and layout; and the layouts' number. */
    async thread() {
      const { metrics } = await watch.session.send('Performance.getMetrics')
      const of = name => metrics.find(metric => metric.name === name)?.value ?? Number.NaN
      return {
        all: of('TaskDuration'),
        script: of('ScriptDuration'),
        style: of('RecalcStyleDuration'),
        layout: of('LayoutDuration'),
        layouts: of('LayoutCount'),
        at: performance.now() / 1000,
      }
    },
    seen: read => watch.page.evaluate(read),
    clear: () =>
      watch.page.evaluate(() => {
        const { __seen: seen } = window
        seen.tasks = []
        seen.events = []
        seen.shifts = []
      }),
  }
  return watch
}

/** The longest latency of an interaction, of those that took longer than a frame; 16 ms if there are none. */
export function slowest(events) {
  const each = new Map()
  for (const [id, duration] of events) each.set(id, Math.max(each.get(id) ?? 0, duration))
  return { worst: Math.max(16, ...each.values()), count: each.size }
}

/** The phases of the longest event: ms until it was taken up, until it was done, until it was painted. */
export function courseOf(events) {
  const longest = events.toSorted((a, b) => b[1] - a[1])[0]
  if (!longest) return ''
  const [, duration, name, taken, done] = longest
  return `${name}: taken up after ${Math.round(taken)}, done after ${Math.round(done)}, painted after ${duration}`
}

/** Cumulative layout shift: the worst burst of at most five seconds without a gap of one second in it. */
export function shiftOf(shifts) {
  let [worst, sum, first, last] = [0, 0, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const [at, value] of shifts) {
    if (at - last >= 1000 || at - first >= 5000) [sum, first] = [0, at]
    sum += value
    last = at
    worst = Math.max(worst, sum)
  }
  return worst
}

/** Frames per second and the percentage of dropped frames, by the frames' timestamps. */
export function smoothness(frames) {
  const FRAME = 1000 / 60
  let dropped = 0
  for (let n = 1; n < frames.length; n += 1)
    dropped += Math.max(0, Math.round((frames[n] - frames[n - 1]) / FRAME) - 1)
  const span = (frames.at(-1) - frames[0]) / 1000
  return { fps: (frames.length - 1) / span, dropped: (100 * dropped) / (frames.length + dropped) }
}

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}
