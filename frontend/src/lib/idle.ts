/** Where a browser cannot say when it is idle (Safari): after the work that is under way. */
const GUESS_MS = 50

/** Runs it when nothing more urgent is to be done, after a second at the latest. Returns what calls it off. */
export function whenIdle(run: () => void): () => void {
  if (typeof requestIdleCallback === 'function') {
    const id = requestIdleCallback(run, { timeout: 1000 })
    return () => cancelIdleCallback(id)
  }
  const id = setTimeout(run, GUESS_MS)
  return () => clearTimeout(id)
}
