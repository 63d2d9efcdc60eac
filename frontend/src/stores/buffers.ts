import { create } from 'zustand'
import { advanceBuffer, type Buffer, type BufferEvent } from '@/features/editor/buffer'
import type { FileRef } from '@/lib/roots'

export type OpenFile =
  | { phase: 'loading' }
  /** `binary`: the file is there, and is not text. */
  | { phase: 'failed'; reason: string; missing: boolean; binary?: boolean }
  | { phase: 'open'; buffer: Buffer }

export interface Comparing {
  file: FileRef
  /** The text that the editor's text is compared with. */
  disk: string
}

interface Buffers {
  /** By the server's paths of the files. */
  files: Record<string, OpenFile>
  /** The comparison that is shown, if any. */
  comparing: Comparing | null
  /** The last file that a person renamed, or deleted if it has no new place. It may never have been open. */
  moved: { from: FileRef; to: FileRef | null } | null
}

export const useBuffers = create<Buffers>(() => ({ files: {}, comparing: null, moved: null }))

export const openFileOf = (file: FileRef): OpenFile | undefined => useBuffers.getState().files[`${file}`]

export const putFile = (file: FileRef, state: OpenFile): void =>
  useBuffers.setState(s => ({ files: { ...s.files, [`${file}`]: state } }))

export const dropFile = (file: FileRef): void =>
  useBuffers.setState(s => {
    const { [`${file}`]: _, ...files } = s.files
    return { files }
  })

export const bufferOf = (file: FileRef): Buffer | null => {
  const state = openFileOf(file)
  return state?.phase === 'open' ? state.buffer : null
}

export function dispatchBuffer(file: FileRef, event: BufferEvent): void {
  const buffer = bufferOf(file)
  if (buffer) putFile(file, { phase: 'open', buffer: advanceBuffer(buffer, event) })
}
