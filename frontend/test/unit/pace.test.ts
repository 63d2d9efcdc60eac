import { expect, it } from 'vitest'
import { type Clock, paced } from '@/app/pace'

/** A clock that stands still until it is told to move; a frame comes on request. */
function stage() {
  let now = 0
  let frame: (() => void) | null = null
  let timers: { at: number; run: () => void }[] = []
  const clock: Clock = {
    now: () => now,
    frame: run => {
      expect(frame).toBeNull()
      frame = run
    },
    after: (ms, run) => {
      const timer = { at: now + ms, run }
      timers.push(timer)
      return () => {
        timers = timers.filter(other => other !== timer)
      }
    },
  }
  let shown = 0
  const arrived = paced(() => {
    shown += 1
  }, clock)
  const pass = (ms: number) => {
    now += ms
    const due = timers.filter(timer => timer.at <= now)
    timers = timers.filter(timer => timer.at > now)
    for (const timer of due) timer.run()
  }
  const paint = () => {
    const run = frame
    frame = null
    run?.()
    return shown
  }
  return { arrived, pass, paint, waiting: () => timers.length }
}

it('the first words show at the next frame', () => {
  const { arrived, paint } = stage()
  arrived('text')
  arrived('text')
  expect(paint()).toBe(1)
  expect(paint()).toBe(1)
})

it('the words after them show together, and not before their time', () => {
  const { arrived, pass, paint } = stage()
  arrived('text')
  paint()
  for (let n = 0; n < 15; n += 1) {
    pass(5)
    arrived('text')
    expect(paint()).toBe(1)
  }
  pass(20)
  expect(paint()).toBe(2)
})

it('news shows at the next frame, with the words that were waiting', () => {
  const { arrived, pass, paint, waiting } = stage()
  arrived('text')
  paint()
  pass(5)
  arrived('text')
  expect(waiting()).toBe(1)
  arrived('news')
  expect(waiting()).toBe(0)
  expect(paint()).toBe(2)
  pass(200)
  expect(paint()).toBe(2)
})
