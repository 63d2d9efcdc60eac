/**
 * A file cut at the borders of its chunks and of the found passage, which may start in one chunk and end in the next.
 * Chunks may overlap, and parts of a file may be in none.
 */
import type { Chunk } from '@/api/types'

export interface FileStretch {
  /** Byte offset in the file. */
  start: number
  text: string
  /** Indices of the chunks that contain it. */
  chunks: number[]
  /** It is part of the found passage. */
  found: boolean
}

type Range = readonly [from: number, to: number]
const shared = ([a, b]: Range, [c, d]: Range): number => Math.min(b, d) - Math.max(a, c)

export function stretchesOf(text: string, chunks: readonly Chunk[], found: Range | null): FileStretch[] {
  const bytes = new TextEncoder().encode(text)
  const decoder = new TextDecoder()
  const within = (at: number) => Math.min(Math.max(0, at), bytes.length)
  const borders = [...chunks.flatMap(chunk => chunk.range), ...(found ?? [])]
  const order = [...new Set([0, bytes.length, ...borders.map(within)])].sort((a, b) => a - b)
  return order.slice(0, -1).map((start, i) => {
    const end = order[i + 1] ?? bytes.length
    const holds = ([a, b]: Range) => a <= start && end <= b
    return {
      start,
      text: decoder.decode(bytes.subarray(start, end)),
      chunks: chunks.flatMap(({ range }, n) => (holds(range) ? [n] : [])),
      found: found !== null && holds(found),
    }
  })
}

/** A file that is not a text has only its chunks: each as it is, cut at the borders of the found passage. */
export function stretchesOfChunks(chunks: readonly Chunk[], found: Range | null): FileStretch[] {
  return chunks.flatMap((chunk, n) => {
    const [from] = chunk.range
    const inside = found && ([found[0] - from, found[1] - from] as const)
    return stretchesOf(chunk.text, [], inside).map(stretch => ({
      ...stretch,
      start: stretch.start + from,
      chunks: [n],
    }))
  })
}

/** Index of the chunk that contains most of a passage, or -1. */
export function chunkOf(chunks: readonly Chunk[], found: Range | null): number {
  if (found === null) return -1
  const most = Math.max(0, ...chunks.map(chunk => shared(chunk.range, found)))
  return most === 0 ? -1 : chunks.findIndex(chunk => shared(chunk.range, found) === most)
}
