/**
 * What the page may ask before anybody has signed in. A browser that was let in before asks for everything at once. Any other asks for
 * the status first, and for the rest only if that is answered.
 */
import { store, stored } from '@/lib/storage'
import { isSignedOut } from './signedOut'

/** Remembers, for the person of the page, that the server answers this browser. */
const LET_IN = 'letIn'
/** The first request of a browser that may have to sign in. */
export const FIRST = '/api/status'

let answer: Promise<unknown> | null = null

/** Asks for the status alone, unless this browser was let in before. Resolves when there is an answer, of any kind. */
export async function knock(ask: () => Promise<unknown>): Promise<void> {
  if (stored(LET_IN) === 'yes') return
  const asked = ask().catch(() => undefined)
  answer = asked
  await asked
  answer = null
}

/** Waits for that answer. Returns false if the server would refuse the request: somebody has to sign in first. */
export async function mayAsk(path: string): Promise<boolean> {
  if (answer && path !== FIRST) await answer
  return !isSignedOut()
}

export const letIn = (): void => {
  if (stored(LET_IN) !== 'yes') store(LET_IN, 'yes')
}

/** The next visit asks for the status first. */
export const shutOut = (): void => void store(LET_IN, null)
