/** What every open conversation shows right now. Written at most once a frame of the screen. */
import { create } from 'zustand'
import { useSignedOut } from '@/api/signedOut'
import type { Envelope } from '@/thread/advance'
import { type Loaded, take } from '@/thread/loaded'
import type { Attachment, Thread } from '@/thread/model'

export type Connection = 'connecting' | 'open' | 'lost'
/** As a person is told of it: a server that asks for the token can be reached. */
export type ShownConnection = Connection | 'signedOut'

/** A message on its way to the server. It leaves the list when its work shows up in the thread. */
export interface Outgoing {
  key: string
  content: string
  attachments: readonly Attachment[]
  state: /** It waits until the server can be reached. */
    | { kind: 'queued' }
    | { kind: 'sending' }
    | { kind: 'accepted'; workId: string }
    | { kind: 'failed'; reason: string }
}

interface Live {
  connection: Connection
  /** When a lost connection is tried again, in ms since 1970. */
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

/** Applies a batch of frames; frames of conversations that are not open here are dropped. */
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

export const isQueued = ({ state }: Outgoing): boolean => state.kind === 'queued'

export function editOutbox(id: string, change: (list: Outgoing[]) => Outgoing[]): void {
  useLive.setState(s => ({ outbox: { ...s.outbox, [id]: change(s.outbox[id] ?? []) } }))
}

/** Messages that have arrived are part of the thread, or were put aside with what followed them. */
export const forgetSent = (id: string): void =>
  editOutbox(id, list => list.filter(item => item.state.kind !== 'accepted'))

/** The messages not yet part of the thread. The frame can be faster than the answer to the POST; a message keeps its key. */
export function waiting(outbox: readonly Outgoing[], thread: Thread | null): Outgoing[] {
  const arrived = new Set(thread?.entries.flatMap(e => (e.kind === 'user' ? [e.id, e.workId] : [])))
  return outbox.filter(
    ({ key, state }) => !arrived.has(key) && !(state.kind === 'accepted' && arrived.has(state.workId)),
  )
}
