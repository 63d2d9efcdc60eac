/** A file cut where its chunks begin and end. Chunks may overlap, and parts of a file may be in none. */
import type { Chunk } from '@/api/retrieval'

export interface FileStretch {
  /** Bytes into the file. */
  start: number
  text: string
  /** Which chunks hold it, by their place in the list. */
  chunks: number[]
}

export function stretchesOf(text: string, chunks: readonly Chunk[]): FileStretch[] {
  const bytes = new TextEncoder().encode(text)
  const decoder = new TextDecoder()
  const within = (at: number) => Math.min(Math.max(0, at), bytes.length)
  const cuts = new Set([0, bytes.length, ...chunks.flatMap(chunk => chunk.range.map(within))])
  const order = [...cuts].sort((a, b) => a - b)
  return order.slice(0, -1).map((start, i) => {
    const end = order[i + 1] ?? bytes.length
    const holding = chunks.flatMap(({ range: [a, b] }, n) => (a <= start && end <= b ? [n] : []))
    return { start, text: decoder.decode(bytes.subarray(start, end)), chunks: holding }
  })
}

/** The chunk that a hit is of: the same text, else the same lines, else the first that touches them. */
export function chunkOf(
  chunks: readonly Chunk[],
  { lines, text }: { lines: readonly [number, number] | null; text: string },
): number {
  const same = (chunk: Chunk) => lines !== null && chunk.lines[0] === lines[0] && chunk.lines[1] === lines[1]
  const touches = (chunk: Chunk) => lines !== null && chunk.lines[0] <= lines[1] && lines[0] <= chunk.lines[1]
  const tries = [(chunk: Chunk) => same(chunk) && chunk.text === text, same, touches]
  for (const fits of tries) {
    const at = chunks.findIndex(fits)
    if (at >= 0) return at
  }
  return -1
}
