/**
 * The tab's only event stream. It resumes after the last event received, so that no event is lost when the connection
 * breaks, and reconnects with increasing delays.
 */
import { isSignedOut } from './signedOut'
import type { Notice } from './types'

/**
 * Every kind of notice: a kind that is missing here does not compile. The browser drops events of other names; they can
 * only come from a newer server, whose `hello` says so.
 */
const NOTICES: Record<Notice['type'], true> = {
  hello: true,
  frame: true,
  sessions_changed: true,
  file_changed: true,
  folder_changed: true,
  jobs_changed: true,
  skills_changed: true,
  projects_changed: true,
  model_changed: true,
  config_changed: true,
  index: true,
  gap: true,
}

const FIRST_PAUSE = 500
const LONGEST_PAUSE = 15_000
/** Milliseconds. A phone freezes the socket of a hidden page but still reports it as open. */
const HIDDEN_TOO_LONG = 5_000

export interface Listener {
  onNotice: (notice: Notice, id: string | null) => void
  /** The response was not an event stream; the browser does not say why. */
  onRefused: () => void
  /** `retryAt`: when a lost stream is retried, in ms since 1970. */
  onState: (state: 'connecting' | 'open' | 'lost', retryAt: number | null) => void
}

export interface Stream {
  reconnect: () => void
  close: () => void
}

export function openEvents(after: string | null, listener: Listener): Stream {
  let source: EventSource | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  let seen = after
  let pause = FIRST_PAUSE
  let hiddenAt: number | null = null
  let heardAt = Date.now()

  const open = () => {
    clearTimeout(timer)
    source?.close()
    // It would be refused. The sign-in opens it.
    if (isSignedOut()) return
    const url = seen === null ? '/api/events' : `/api/events?after=${encodeURIComponent(seen)}`
    const current = new EventSource(url)
    source = current
    current.onopen = () => {
      pause = FIRST_PAUSE
      listener.onState('open', null)
    }
    current.onerror = () => {
      if (current !== source) return
      if (current.readyState === EventSource.CLOSED) listener.onRefused()
      current.close()
      const wait = pause * (0.75 + Math.random() / 2)
      listener.onState('lost', Date.now() + wait)
      clearTimeout(timer)
      timer = setTimeout(open, wait)
      pause = Math.min(LONGEST_PAUSE, pause * 2)
    }
    for (const name of Object.keys(NOTICES)) {
      current.addEventListener(name, (event: MessageEvent<string>) => {
        heardAt = Date.now()
        const id = event.lastEventId || null
        listener.onNotice(JSON.parse(event.data) as Notice, id)
        // After a gap the old id is useless; the id of the gap itself, if it has one, is valid.
        seen = name === 'gap' && id === seen ? null : (id ?? seen)
      })
    }
  }

  const wake = () => {
    const now = Date.now()
    if (document.hidden) {
      hiddenAt = now
      return
    }
    const slept = hiddenAt !== null && now - hiddenAt > HIDDEN_TOO_LONG
    const silent = now - heardAt > HIDDEN_TOO_LONG
    hiddenAt = null
    if (source?.readyState !== EventSource.OPEN || (slept && silent)) open()
  }
  const online = () => open()

  document.addEventListener('visibilitychange', wake)
  window.addEventListener('online', online)
  listener.onState('connecting', null)
  open()

  return {
    reconnect: open,
    close: () => {
      clearTimeout(timer)
      source?.close()
      source = null
      document.removeEventListener('visibilitychange', wake)
      window.removeEventListener('online', online)
    },
  }
}
