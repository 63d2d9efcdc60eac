/**
 * An open file: its last known version on disk, the edited text, and how the two relate. Nothing here writes; the
 * rules are those of a compare-and-swap on the file's content hash.
 */
import { sameEtag } from '@/api/endpoints'
import type { FileRef } from '@/lib/roots'
import type { ModelKey } from './models'

export type Writer = 'disk' | 'editor' | 'run'

export type BufferState =
  | { kind: 'clean' }
  | { kind: 'dirty' }
  | { kind: 'saving' }
  /** The disk has a different version than the one the text is based on; saving waits for the person's choice. */
  | { kind: 'conflict'; etag: string; by: Writer }
  | { kind: 'deleted' }

export interface Buffer {
  file: FileRef
  /** The key of the undo history, cursor and scroll position. */
  model: ModelKey
  /** The version the text is based on; an empty etag means that the file does not exist. */
  base: { content: string; etag: string }
  text: string
  state: BufferState
  tokens: number | null
  savedAt: number | null
  problem: string | null
  /** Incremented when the text is replaced from outside the editor. */
  revision: number
}

export type BufferEvent =
  | { type: 'edited'; text: string }
  /** Text that something other than the editor wrote into the buffer. */
  | { type: 'replaced'; text: string }
  | { type: 'saving' }
  | { type: 'saved'; content: string; etag: string; tokens: number | null; at: number }
  | { type: 'save_failed'; reason: string }
  | { type: 'refused'; etag: string }
  | { type: 'disk_changed'; etag: string; by: Writer }
  | { type: 'disk_deleted' }
  | { type: 'disk_loaded'; content: string; etag: string; tokens: number | null }
  | { type: 'kept_mine' }

export const openBuffer = (file: FileRef, content: string, etag: string, tokens: number | null): Buffer => ({
  file,
  model: {},
  base: { content, etag },
  text: content,
  state: { kind: 'clean' },
  tokens,
  savedAt: null,
  problem: null,
  revision: 0,
})

export const isDirty = (buffer: Buffer): boolean => buffer.text !== buffer.base.content

const settled = (buffer: Buffer): BufferState => (isDirty(buffer) ? { kind: 'dirty' } : { kind: 'clean' })

/** The state after a failed save or read: nothing has changed on disk. */
function unsettled(buffer: Buffer): BufferState {
  if (buffer.state.kind !== 'saving') return buffer.state
  return buffer.base.etag === '' ? { kind: 'deleted' } : settled(buffer)
}

/**
 * The buffer of a file that was moved; `etag` is its version there. A notice that it is gone from its old place may have
 * come before the answer that it was moved.
 */
export function movedBuffer(buffer: Buffer, to: FileRef, etag: string): Buffer {
  const next = { ...buffer, file: to, base: { ...buffer.base, etag } }
  const isBack = buffer.state.kind === 'deleted' && etag !== ''
  return isBack ? { ...next, state: settled(next) } : next
}

/** Whether the text it is compared with is the disk's version, and not an earlier one. */
export const isOfDisk = (buffer: Buffer, other: string): boolean =>
  buffer.state.kind === 'conflict' || buffer.base.content === other

export function advanceBuffer(buffer: Buffer, event: BufferEvent): Buffer {
  switch (event.type) {
    case 'edited':
    case 'replaced': {
      const revision = buffer.revision + (event.type === 'replaced' ? 1 : 0)
      const next = { ...buffer, text: event.text, problem: null, revision }
      const follows = buffer.state.kind === 'clean' || buffer.state.kind === 'dirty'
      return follows ? { ...next, state: settled(next) } : next
    }
    case 'saving':
      return { ...buffer, state: { kind: 'saving' }, problem: null }
    case 'saved': {
      const base = { content: event.content, etag: event.etag }
      const next = { ...buffer, base, tokens: event.tokens, savedAt: event.at, problem: null }
      return { ...next, state: settled(next) }
    }
    case 'save_failed':
      return { ...buffer, state: unsettled(buffer), problem: event.reason }
    case 'refused':
      return { ...buffer, state: { kind: 'conflict', etag: event.etag, by: 'disk' } }
    case 'disk_changed': {
      if (sameEtag(event.etag, buffer.base.etag) || buffer.state.kind === 'saving') return buffer
      return { ...buffer, state: { kind: 'conflict', etag: event.etag, by: event.by } }
    }
    case 'disk_deleted':
      return { ...buffer, state: { kind: 'deleted' }, base: { ...buffer.base, etag: '' } }
    case 'disk_loaded':
      return {
        ...openBuffer(buffer.file, event.content, event.etag, event.tokens),
        model: buffer.model,
        savedAt: buffer.savedAt,
        revision: buffer.revision + 1,
      }
    case 'kept_mine': {
      if (buffer.state.kind !== 'conflict') return buffer
      // The text now counts as based on the disk's version, so that one save goes through.
      const base = { ...buffer.base, etag: buffer.state.etag }
      return { ...buffer, base, state: { kind: 'dirty' } }
    }
  }
}
