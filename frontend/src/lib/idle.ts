/** Milliseconds to wait in a browser without idle callbacks (Safari): until after the current work. */
const GUESS_MS = 50

/** Runs it when the browser is idle, after a second at the latest. Returns a function that cancels it. */
export function whenIdle(run: () => void): () => void {
  if (typeof requestIdleCallback === 'function') {
    const id = requestIdleCallback(run, { timeout: 1000 })
    return () => cancelIdleCallback(id)
  }
  const id = setTimeout(run, GUESS_MS)
  return () => clearTimeout(id)
}
