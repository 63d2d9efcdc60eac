/**
 * Estimates of a row's height in px, until it is measured. The closer they are, the fewer passes of rendering and
 * measuring a conversation needs to fill the screen when it is opened.
 */
import type { AssistantEntry, UserEntry } from '@/thread/model'

const LINE = 22
const LETTERS_IN_LINE = 88
/** Space around a bubble. */
const FRAME = 32
/** The footer of an answer: its actions and its model. */
const FOOT = 38
/** A collapsed item: thinking, steps, passages. */
const FOLDED = 40

/** Number of lines of a text, including those of wrapped lines. */
function linesOf(text: string): number {
  let lines = 1 + Math.floor(text.length / LETTERS_IN_LINE)
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines += 1
  return lines
}

export const heightOfMessage = ({ content, attachments }: UserEntry): number =>
  FRAME + LINE * linesOf(content) + (attachments.length > 0 ? FOLDED : 0)

export const heightOfAnswer = ({ segments }: AssistantEntry): number =>
  segments.reduce(
    (sum, segment) => sum + (segment.kind === 'text' ? LINE * linesOf(segment.text) : FOLDED),
    FRAME + FOOT,
  )
