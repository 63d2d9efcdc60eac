/** Lexes what may take long, beside the page. It says when it can begin, so that its own start costs no text its time. */
import { type LaterToken, lexAll } from './lex'

const answer = (tokens: unknown): void => postMessage(tokens)

addEventListener('message', ({ data }: MessageEvent<LaterToken>) => {
  try {
    answer(lexAll(data))
  } catch {
    // Nested deeper than the lexer goes.
    answer(null)
  }
})
answer('ready')
