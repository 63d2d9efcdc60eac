import { afterEach, describe, expect, it, vi } from 'vitest'
import { compare, keepMine, save } from '@/features/editor/actions'
import { advanceBuffer, type Buffer, type BufferEvent, isOfDisk, openBuffer } from '@/features/editor/buffer'
import { bufferOf, putFile, useBuffers } from '@/stores/buffers'
import { serve as serveCalls } from '../fetch'
import { file } from '../file'

const PATH = 'workspace/a.txt'
const FILE = file(PATH)
const opened = openBuffer(FILE, 'one', 'e1', 1)
const run = (...events: BufferEvent[]): Buffer => events.reduce(advanceBuffer, opened)
const edited: BufferEvent = { type: 'edited', text: 'two' }
const changed: BufferEvent = { type: 'disk_changed', etag: 'e2', by: 'run' }
const failed: BufferEvent = { type: 'save_failed', reason: 'no room' }
const open = (buffer: Buffer) => putFile(FILE, { phase: 'open', buffer })

/** Responds to each request by its method. */
const serve = (answers: Record<string, [number, unknown]>): void =>
  serveCalls(({ method }) => answers[method] ?? [500, {}])
afterEach(() => {
  vi.unstubAllGlobals()
  useBuffers.setState({ files: {}, comparing: null })
})

describe('a text that could not be saved', () => {
  it('keeps its state, whether deleted, conflicting or edited', () => {
    const gone: BufferEvent = { type: 'disk_deleted' }
    expect(run(gone, { type: 'saving' }, failed)).toMatchObject({
      state: { kind: 'deleted' },
      problem: 'no room',
    })
    expect(run(edited, { type: 'saving' }, gone, failed).state.kind).toBe('deleted')
    expect(run(gone, failed).state.kind).toBe('deleted')
    expect(run(edited, changed, failed).state).toEqual({ kind: 'conflict', etag: 'e2', by: 'run' })
    expect(run(edited, { type: 'saving' }, failed).state.kind).toBe('dirty')
    expect(run(failed).state.kind).toBe('clean')
  })

  it('can be saved again if the file is gone, even without edits', async () => {
    open(run({ type: 'disk_deleted' }))
    serve({ POST: [507, { code: 'disk_full', error: 'full' }] })
    await save(FILE)
    expect(bufferOf(FILE)?.state.kind).toBe('deleted')
    serve({ POST: [200, { path: PATH, etag: 'e9' }] })
    await save(FILE)
    expect(bufferOf(FILE)?.state.kind).toBe('clean')
  })

  it('still conflicts if the other version could not be read', async () => {
    open(run(edited, changed))
    serve({})
    await compare(FILE)
    expect(bufferOf(FILE)).toMatchObject({ state: { kind: 'conflict', etag: 'e2' } })
    expect(bufferOf(FILE)?.problem).not.toBeNull()
    serve({ POST: [200, { path: PATH, etag: 'e3' }] })
    await keepMine(FILE)
    expect(bufferOf(FILE)?.state.kind).toBe('clean')
  })
})

it('a comparison that finds another version on disk raises a conflict', async () => {
  open(run(edited))
  serve({ GET: [200, { path: PATH, content: 'theirs', etag: '"e5"' }] })
  await compare(FILE)
  expect(bufferOf(FILE)?.state).toEqual({ kind: 'conflict', etag: '"e5"', by: 'disk' })
  expect(useBuffers.getState().comparing?.disk).toBe('theirs')
})

it('is distinguished from an earlier version of the disk', () => {
  expect(isOfDisk(run(edited), 'one')).toBe(true)
  expect(isOfDisk(run(edited, changed), 'theirs')).toBe(true)
  expect(isOfDisk(opened, 'before')).toBe(false)
})
