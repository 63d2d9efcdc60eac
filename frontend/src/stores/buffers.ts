import { create } from 'zustand'
import { advanceBuffer, type Buffer, type BufferEvent } from '@/features/editor/buffer'

export type OpenFile =
  | { phase: 'loading' }
  | { phase: 'failed'; reason: string; missing: boolean }
  | { phase: 'open'; buffer: Buffer }

interface Buffers {
  files: Record<string, OpenFile>
  /** The disk's version beside the text, while the two are compared. */
  comparing: { path: string; disk: string } | null
}

export const useBuffers = create<Buffers>(() => ({ files: {}, comparing: null }))

export const putFile = (path: string, file: OpenFile): void =>
  useBuffers.setState(s => ({ files: { ...s.files, [path]: file } }))

export const dropFile = (path: string): void =>
  useBuffers.setState(s => {
    const { [path]: _, ...files } = s.files
    return { files }
  })

export const bufferOf = (path: string): Buffer | null => {
  const file = useBuffers.getState().files[path]
  return file?.phase === 'open' ? file.buffer : null
}

export function dispatchBuffer(path: string, event: BufferEvent): void {
  const buffer = bufferOf(path)
  if (buffer) putFile(path, { phase: 'open', buffer: advanceBuffer(buffer, event) })
}
