import { afterEach, expect, it, vi } from 'vitest'
import { keys, queryClient } from '@/api/queries'
import type { Frame } from '@/api/types'
import { connectEvents } from '@/app/follow'
import { useLive } from '@/stores/live'
import { useUi } from '@/stores/ui'
import { advance, isKnown } from '@/thread/advance'
import { emptyThread } from '@/thread/model'
import { FRAMES } from './frames'

/** A frame that a later version of the server might send. */
const NEW = { type: 'weather', sky: 'clear' } as unknown as Frame

class Source extends EventTarget {
  static last: Source
  readyState = 1
  onopen: (() => void) | null = null
  constructor() {
    super()
    Source.last = this
  }
  close() {}
  tell(type: string, data: object, lastEventId: string) {
    this.dispatchEvent(
      Object.assign(new Event(type), { data: JSON.stringify({ type, ...data }), lastEventId }),
    )
  }
}

afterEach(() => {
  vi.unstubAllGlobals()
})

it('a frame of an unknown type changes nothing', () => {
  const thread = emptyThread('s')
  expect(advance(thread, NEW)).toBe(thread)
  expect(isKnown(NEW)).toBe(false)
  expect(FRAMES.filter(frame => !isKnown(frame))).toEqual([])
})

it('a frame of an unknown type loses no text, and marks the page as old', async () => {
  vi.stubGlobal('EventSource', Source)
  const ready = (id: string) => ({ phase: 'ready' as const, thread: emptyThread(id) })
  useLive.setState({ threads: { a: ready('a'), b: ready('b') } })
  connectEvents('boot.1')
  const tell = (session_id: string, number: number, frame: Frame) =>
    Source.last.tell('frame', { session_id, frame }, `boot.${number}`)
  const begun = FRAMES[0] as Frame
  tell('a', 2, begun)
  tell('b', 3, begun)
  tell('a', 4, { type: 'token', content: 'one' })
  expect(useUi.getState().stale).toBe(false)
  tell('a', 5, NEW)
  tell('b', 6, { type: 'token', content: 'two' })
  tell('a', 7, { type: 'token', content: ' more' })
  const textOf = (id: string) => {
    const loaded = useLive.getState().threads[id]
    const entry = loaded?.phase === 'ready' ? loaded.thread.entries.at(-1) : undefined
    return entry?.kind === 'assistant'
      ? entry.segments.map(s => (s.kind === 'text' ? s.text : s.kind)).join()
      : ''
  }
  await vi.waitFor(() => expect([textOf('a'), textOf('b')]).toEqual(['one more', 'two']))
  expect(useUi.getState().stale).toBe(true)
})

it('a notice about an unknown index repeats no search of another folder', () => {
  vi.stubGlobal('EventSource', Source)
  const folders = ['knowledge', 'archive'].map(folder => ({ folder, state: 'building', done: 0, total: 2 }))
  queryClient.setQueryData(keys.index, { folders })
  const asked: unknown[] = []
  vi.spyOn(queryClient, 'invalidateQueries').mockImplementation(async filters => {
    asked.push(filters?.queryKey)
  })
  connectEvents('boot.1')
  const ready = (folder: string) =>
    Source.last.tell('index', { folder, state: 'ready', done: 2, total: 2 }, 'boot.2')
  ready('archive')
  expect(asked).toContainEqual(keys.searches('archive'))
  expect(asked).not.toContainEqual(keys.searches('knowledge'))
  ready('knowledge')
  expect(asked).toContainEqual(keys.searches('knowledge'))
})
