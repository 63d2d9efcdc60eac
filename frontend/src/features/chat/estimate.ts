/**
 * Guesses of a row's height in px, until it is measured. The nearer they are, the fewer rounds of drawing and measuring
 * a conversation takes to fill the screen when it is opened.
 */
import type { AssistantEntry, UserEntry } from '@/thread/model'

const LINE = 22
const LETTERS_IN_LINE = 88
/** Space around a bubble. */
const FRAME = 32
/** The line of what can be done with an answer, and who gave it. */
const FOOT = 38
/** Something folded: thinking, steps, what was found. */
const FOLDED = 40

/** Lines of a text: those it has, and those that the longer ones are broken into. */
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
