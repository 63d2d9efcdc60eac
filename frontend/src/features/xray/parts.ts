/** A request, by the origin of each piece. */
import type { Prompt, SentPiece } from '@/api/types'
import type { Lines } from '@/lib/citation'

export interface Origin {
  kind: SentPiece['origin']
  label: string
  file: string | null
  tokens: number
  bytes: number
  truncated: boolean
  /** Why it is left out; null if it is included. */
  absent: string | null
  /** A file is in its place that cannot be read: nothing is sent until that is fixed. */
  unreadable: boolean
  text: string
  /** The included lines of the file, if known. */
  lines: Lines | null
  /** Number of messages that it stands for. */
  count: number
}

/** Slices by bytes, in which ranges are given; JavaScript strings count UTF-16 code units. */
function slice(bytes: Uint8Array, start: number, end: number): string {
  return new TextDecoder().decode(bytes.subarray(start, end))
}

const sizeOf = (text: string): number => new TextEncoder().encode(text).length

export function originsOf(prompt: Prompt): Origin[] {
  const system = new TextEncoder().encode(prompt.system)
  const parts = prompt.parts.map(part => ({
    kind: part.file ? ('file' as const) : ('text' as const),
    label: part.label,
    file: part.file ?? null,
    tokens: part.tokens,
    bytes: part.bytes,
    truncated: part.truncated,
    absent: part.absent ?? null,
    unreadable: part.unreadable,
    text: slice(system, part.start, part.end),
    lines: null,
    count: 1,
  }))
  const { messages = [], tools = [] } = prompt.request as { messages?: { role: string }[]; tools?: unknown[] }
  const said = messages.filter(message => message.role !== 'system')
  const history = JSON.stringify(said, null, 2)
  const rest = {
    kind: 'history' as const,
    label: '',
    file: null,
    tokens: prompt.message_tokens,
    bytes: said.length === 0 ? 0 : sizeOf(JSON.stringify(said)),
    truncated: prompt.left_out > 0,
    absent: null,
    unreadable: false,
    text: said.length === 0 ? '' : history,
    lines: null,
    count: said.length,
  }
  const offered = {
    kind: 'tools' as const,
    label: '',
    file: null,
    tokens: prompt.tools_tokens,
    bytes: prompt.tools_bytes,
    truncated: false,
    absent: null,
    unreadable: false,
    text: JSON.stringify(tools, null, 2),
    lines: null,
    count: 1,
  }
  const expected = {
    kind: 'retrieval' as const,
    label: '',
    file: null,
    tokens: prompt.retrieved_tokens,
    bytes: 0,
    truncated: false,
    absent: null,
    unreadable: false,
    text: '',
    lines: null,
    count: 1,
  }
  return [...parts, offered, rest, ...(expected.tokens > 0 ? [expected] : [])]
}
