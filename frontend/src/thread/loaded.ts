/** A thread that is being loaded: frames that arrive before the history are kept and applied after it. */
import type { Chosen, History } from '@/api/types'
import { type Envelope, receive } from './advance'
import { coalesce } from './deltas'
import { isCovered } from './eventId'
import { fromHistory, keepRetrieval, withEarlier } from './history'
import type { Thread } from './model'

export type Loaded =
  | { phase: 'loading'; pending: Envelope[]; shown: Thread | null }
  | { phase: 'ready'; thread: Thread }
  | { phase: 'failed'; reason: string; code: string; shown: Thread | null }

export const shownThread = (loaded: Loaded | undefined): Thread | null =>
  !loaded ? null : loaded.phase === 'ready' ? loaded.thread : loaded.shown

export const startLoading = (loaded: Loaded | undefined): Loaded => ({
  phase: 'loading',
  pending: loaded?.phase === 'loading' ? loaded.pending : [],
  shown: shownThread(loaded),
})

export function take(loaded: Loaded, envelopes: readonly Envelope[]): Loaded {
  switch (loaded.phase) {
    case 'loading':
      return { ...loaded, pending: [...loaded.pending, ...envelopes] }
    case 'ready':
      return { phase: 'ready', thread: applyAll(loaded.thread, envelopes) }
    case 'failed':
      return loaded
  }
}

export function settle(loaded: Loaded | undefined, history: History): Loaded {
  const pending = loaded?.phase === 'loading' ? loaded.pending : []
  const shown = shownThread(loaded)
  const fresh = fromHistory(history)
  const thread = applyAll(fresh, pending)
  return { phase: 'ready', thread: shown ? keepRetrieval(thread, shown) : thread }
}

/** Puts a page of earlier messages before those that are shown. */
export const settleEarlier = (loaded: Loaded, page: History, before: string): Loaded =>
  loaded.phase === 'ready' ? { phase: 'ready', thread: withEarlier(loaded.thread, page, before) } : loaded

/** Drops covered frames first: merging one of them with a new delta would show its text twice. */
function applyAll(thread: Thread, envelopes: readonly Envelope[]): Thread {
  const fresh = envelopes.filter(e => !isCovered(e.id, thread.lastEventId))
  return coalesce(fresh).reduce(receive, thread)
}

/** Applies what a person has just chosen; the stream will report it too. */
export const withChosen = (loaded: Loaded, chosen: Chosen): Loaded =>
  loaded.phase === 'ready' ? { phase: 'ready', thread: { ...loaded.thread, chosen } } : loaded

/** The same for the project that the tools work in. */
export const withProject = (loaded: Loaded, projectId: string | null): Loaded =>
  loaded.phase === 'ready' ? { phase: 'ready', thread: { ...loaded.thread, projectId } } : loaded
