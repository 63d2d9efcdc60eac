import { describe, expect, it } from 'vitest'
import {
  advanceBuffer,
  type Buffer,
  type BufferEvent,
  movedBuffer,
  openBuffer,
} from '@/features/editor/buffer'
import { smallestChange } from '@/features/editor/replace'
import { file } from '../file'

const opened = openBuffer(file('memory/USER.md'), 'one', 'e1', 1)
const run = (...events: BufferEvent[]): Buffer => events.reduce(advanceBuffer, opened)
const edited: BufferEvent = { type: 'edited', text: 'two' }
const changed: BufferEvent = { type: 'disk_changed', etag: 'e2', by: 'disk' }

describe('an open file', () => {
  it('is dirty once edited, and clean again when its text is restored', () => {
    expect(run(edited).state.kind).toBe('dirty')
    expect(run(edited, { type: 'edited', text: 'one' }).state.kind).toBe('clean')
  })
  it('stays dirty if it is edited during a save', () => {
    const saved: BufferEvent = { type: 'saved', content: 'two', etag: 'e2', tokens: 1, at: 5 }
    expect(run(edited, { type: 'saving' }, { type: 'edited', text: 'three' }, saved).state.kind).toBe('dirty')
    expect(run(edited, { type: 'saving' }, saved).state.kind).toBe('clean')
  })
  it('raises a conflict when the disk changes under edited text, and keeps the text', () => {
    const buffer = run(edited, changed)
    expect(buffer.state).toEqual({ kind: 'conflict', etag: 'e2', by: 'disk' })
    expect(buffer.text).toBe('two')
  })
  it('does not mistake its own version for a change', () => {
    expect(run(edited, { type: 'disk_changed', etag: '"e1"', by: 'editor' }).state.kind).toBe('dirty')
  })
  it('is not deleted at its new place if it seemed deleted at its old one', () => {
    const to = file('memory/ME.md')
    const [gone, unsaved] = [run({ type: 'disk_deleted' }), run(edited, { type: 'disk_deleted' })]
    expect(movedBuffer(gone, to, 'e1')).toMatchObject({
      file: to,
      state: { kind: 'clean' },
      base: { etag: 'e1' },
    })
    const moved = movedBuffer(unsaved, to, 'e1')
    expect([moved.state.kind, moved.text]).toEqual(['dirty', 'two'])
    expect(advanceBuffer(moved, { type: 'disk_changed', etag: 'e1', by: 'disk' }).state.kind).toBe('dirty')
    // Whether it is there at all is not known.
    expect(movedBuffer(gone, to, '').state.kind).toBe('deleted')
  })
  it('stays in conflict while typing goes on', () => {
    expect(run(edited, changed, { type: 'edited', text: 'more' }).state.kind).toBe('conflict')
  })
  it('keeps the edit by saving against the current version on disk', () => {
    const buffer = run(edited, changed, { type: 'kept_mine' })
    expect([buffer.state.kind, buffer.base.etag, buffer.text]).toEqual(['dirty', 'e2', 'two'])
  })
  it('takes the version on disk with a new revision', () => {
    const buffer = run(edited, changed, { type: 'disk_loaded', content: 'disk', etag: 'e2', tokens: 2 })
    expect([buffer.state.kind, buffer.text, buffer.revision]).toEqual(['clean', 'disk', 1])
  })
  it('has a conflict if a save is refused', () => {
    expect(run(edited, { type: 'saving' }, { type: 'refused', etag: 'e9' }).state.kind).toBe('conflict')
  })
})

it('the smallest change turns one text into the other and touches nothing else', () => {
  for (const [from, to] of [
    ['abc', 'abc'],
    ['abc', 'abXc'],
    ['aaa', 'aaaa'],
    ['', 'x'],
    ['x', ''],
    ['hello world', 'hello brave world'],
  ] as const) {
    const change = smallestChange(from, to)
    const result = change ? from.slice(0, change.from) + change.insert + from.slice(change.to) : from
    expect(result).toBe(to)
  }
})
