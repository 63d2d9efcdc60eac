/**
 * Lexes slow texts off the main thread. It reports when it is ready, so that its start does not count against a time
 * limit.
 */
import { type DeferredToken, lexAll } from './lex'

const answer = (tokens: unknown): void => postMessage(tokens)

addEventListener('message', ({ data }: MessageEvent<DeferredToken>) => {
  try {
    answer(lexAll(data))
  } catch {
    // The text is nested deeper than the lexer can go.
    answer(null)
  }
})
answer('ready')
