/** Citations of messages: `[session:message]`, the places that a search in conversations names. */

export interface MessagePlace {
  session: string
  message: string
}

const SESSION = '[A-Za-z0-9_][\\w-]{0,63}'
const ID = '[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?:\\.\\d{1,6})?'
/** Only ids that the server makes: other words in brackets with a colon are ordinary text. */
export const MESSAGE_CITATION = `\\[ ?(${SESSION}):(${ID}|m\\d{1,7}) ?\\]`
const SOURCE = new RegExp(`^(${SESSION}):([^/\\s]{1,300})$`)

/** The message that the source of a hit names; null for a file. */
export function messageOf(source: string): MessagePlace | null {
  const [, session, message] = SOURCE.exec(source) ?? []
  return session && message ? { session, message } : null
}

export const hrefOfMessage = ({ session, message }: MessagePlace): string =>
  `/s/${session}/m/${encodeURIComponent(message)}`

/** Maximum number of words that are marked. */
const MOST = 8
const isSpaced = (term: string): boolean =>
  /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}_]+$/u.test(term)

/**
 * The words of a quotation that a search found by these terms, which may be stems. The first words if it was found by
 * meaning.
 */
export function wordsFound(quote: string, terms: readonly string[]): string {
  const all = quote.split(/[^\p{L}\p{N}_]+/u).filter(word => word !== '')
  const stems = terms.map(term => term.toLowerCase())
  const byStem = all.filter(word => stems.some(stem => isSpaced(stem) && word.toLowerCase().startsWith(stem)))
  const whole = stems.filter(stem => !isSpaced(stem) && quote.toLowerCase().includes(stem))
  const found = [...new Set([...byStem.map(word => word.toLowerCase()), ...whole])]
  return (found.length > 0 ? found : all).slice(0, MOST).join(' ')
}

/** The words of a message in the output of a search: the lines after its place that begin with `> `. */
export function quoteIn(output: string, { session, message }: MessagePlace): string | null {
  const lines = output.split('\n')
  const at = lines.findIndex(line => line.startsWith(`[${session}:${message}] `))
  if (at < 0) return null
  const rest = lines.slice(at + 1)
  const end = rest.findIndex(line => !line.startsWith('> '))
  return rest
    .slice(0, end < 0 ? rest.length : end)
    .map(line => line.slice(2))
    .join('\n')
}

/** The messages that a text cites, the first of each conversation, in the order of the text. */
export function citedIn(text: string): MessagePlace[] {
  const first = new Map<string, MessagePlace>()
  for (const [, session, message] of text.matchAll(new RegExp(MESSAGE_CITATION, 'g')))
    if (session && message && !first.has(session)) first.set(session, { session, message })
  return [...first.values()]
}

/** The words that a passage of a conversation quotes, without the places and speakers between them, which the model reads. */
export function quotedIn(passage: string): string {
  const quoted = passage.split('\n').filter(line => line.startsWith('> '))
  return quoted.length > 0 ? quoted.map(line => line.slice(2)).join('\n') : passage
}
