/** Frames that only add text: a burst of them costs one update of the page and not one each. */
import type { Frame } from '@/api/types'
import type { Envelope } from './advance'

type Delta = Extract<Frame, { type: 'token' | 'thinking' | 'tool_output' }>

/** Whether a frame adds text to an answer, to its thinking, or to the output of a running call. */
export const isDelta = (frame: Frame): frame is Delta =>
  frame.type === 'token' || frame.type === 'thinking' || frame.type === 'tool_output'

/** One frame that adds the text of both; null if they add to different things. */
function joined(first: Delta, second: Delta): Delta | null {
  if (first.type === 'tool_output' || second.type === 'tool_output') {
    const same =
      first.type === 'tool_output' && second.type === 'tool_output' && first.call_id === second.call_id
    return same ? { ...first, text: keepEnd(first.text + second.text) } : null
  }
  return first.type === second.type ? { ...first, content: first.content + second.content } : null
}

/** Merges neighbouring deltas. */
export function coalesce(envelopes: readonly Envelope[]): Envelope[] {
  const out: Envelope[] = []
  for (const item of envelopes) {
    const last = out.at(-1)
    const both =
      last && item.id !== null && isDelta(last.frame) && isDelta(item.frame)
        ? joined(last.frame, item.frame)
        : null
    if (both) out[out.length - 1] = { id: item.id, frame: both }
    else out.push(item)
  }
  return out
}

/** Characters of a running call's output that are kept until its end. */
const LIVE_OUTPUT = 16_384

/** The end of an output; a character of two code units is not cut in half. */
export function keepEnd(output: string): string {
  const end = output.slice(-LIVE_OUTPUT)
  const half = end.length < output.length && /^[\udc00-\udfff]/.test(end)
  return half ? end.slice(1) : end
}
