/** The current state of every open conversation. Written at most once per frame of the screen. */
import { create } from 'zustand'
import { useSignedOut } from '@/api/signedOut'
import type { When } from '@/api/types'
import type { Envelope } from '@/thread/advance'
import { type Loaded, take } from '@/thread/loaded'
import type { Attachment, Thread } from '@/thread/model'

export type Connection = 'connecting' | 'open' | 'lost'
/** The connection as the person sees it: a server that asks for the token is reachable. */
export type ShownConnection = Connection | 'signedOut'

/** A message on its way to the server. It is removed when its work appears in the thread. */
export interface Outgoing {
  key: string
  content: string
  attachments: readonly Attachment[]
  when: When
  state: /** Waits until the server is reachable. */
    | { kind: 'held' }
    | { kind: 'sending' }
    | { kind: 'accepted'; workId: string }
    | { kind: 'failed'; reason: string }
}

interface Live {
  connection: Connection
  /** When a lost connection is retried, in ms since 1970. */
  retryAt: number | null
  threads: Record<string, Loaded>
  outbox: Record<string, Outgoing[]>
}

export const useLive = create<Live>(() => ({
  connection: 'connecting',
  retryAt: null,
  threads: {},
  outbox: {},
}))

export function useConnection(): ShownConnection {
  const connection = useLive(s => s.connection)
  return useSignedOut() ? 'signedOut' : connection
}

export const setConnection = (connection: Connection, retryAt: number | null = null): void =>
  useLive.setState({ connection, retryAt })

export function updateThread(id: string, change: (loaded: Loaded | undefined) => Loaded | undefined): void {
  useLive.setState(s => {
    const next = change(s.threads[id])
    if (next === s.threads[id]) return s
    const threads = { ...s.threads }
    if (next) threads[id] = next
    else delete threads[id]
    return { threads }
  })
}

/** Applies a batch of frames; drops the frames of conversations that are not open here. */
export function deliver(batch: ReadonlyMap<string, Envelope[]>): void {
  useLive.setState(s => {
    const threads = { ...s.threads }
    for (const [id, envelopes] of batch) {
      const loaded = threads[id]
      if (loaded) threads[id] = take(loaded, envelopes)
    }
    return { threads }
  })
}

export const isHeld = ({ state }: Outgoing): boolean => state.kind === 'held'

export function editOutbox(id: string, change: (list: Outgoing[]) => Outgoing[]): void {
  useLive.setState(s => ({ outbox: { ...s.outbox, [id]: change(s.outbox[id] ?? []) } }))
}

/** Removes accepted messages: they are part of the thread, or were moved to a branch with what followed them. */
export const forgetSent = (id: string): void =>
  editOutbox(id, list => list.filter(item => item.state.kind !== 'accepted'))

/**
 * The messages that are neither part of the thread nor in its queue yet. The frame can arrive before the response to the POST; a message
 * keeps its key.
 */
export function waiting(outbox: readonly Outgoing[], thread: Thread | null): Outgoing[] {
  const asked = thread?.entries.flatMap(e => (e.kind === 'user' ? [e.id, e.workId] : [])) ?? []
  const arrived = new Set([...asked, ...(thread?.queue.map(message => message.id) ?? [])])
  return outbox.filter(
    ({ key, state }) => !arrived.has(key) && !(state.kind === 'accepted' && arrived.has(state.workId)),
  )
}
