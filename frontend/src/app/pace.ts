/**
 * When arrived data is rendered: at the next frame, but text of an answer at most about 11 times a second. Each
 * update lays out and paints the conversation again, which costs the same for one word as for ten, and nobody reads
 * faster.
 */
const TEXT_MS = 80
/** A hidden page gets no frames; its text may be delayed, but must not be dropped. */
const HIDDEN_MS = 200

/** The time source: a monotonic clock in milliseconds, the next frame, and a cancellable timer. */
export interface Clock {
  now: () => number
  frame: (run: () => void) => void
  after: (ms: number, run: () => void) => () => void
}

export const screenClock: Clock = {
  now: () => performance.now(),
  frame: run => {
    if (document.hidden) setTimeout(run, HIDDEN_MS)
    else requestAnimationFrame(run)
  },
  after: (ms, run) => {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

type Due = { kind: 'nothing' } | { kind: 'later'; forget: () => void } | { kind: 'frame' }

/** Returns a function to call for each arrival: more text of an answer, or news that must not wait. */
export function paced(show: () => void, clock: Clock = screenClock): (what: 'text' | 'news') => void {
  let due: Due = { kind: 'nothing' }
  let shown = Number.NEGATIVE_INFINITY
  const soon = () => {
    due = { kind: 'frame' }
    clock.frame(() => {
      due = { kind: 'nothing' }
      shown = clock.now()
      show()
    })
  }
  return what => {
    if (due.kind === 'frame') return
    const wait = what === 'news' ? 0 : shown + TEXT_MS - clock.now()
    if (wait <= 0) {
      if (due.kind === 'later') due.forget()
      soon()
    } else if (due.kind === 'nothing') due = { kind: 'later', forget: clock.after(wait, soon) }
  }
}
