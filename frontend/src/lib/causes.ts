/** Translates what the operating system or a library says of a failure, which the server passes on as it is. */

/** Returns the text of a key as it is written in the language; null if the language has none. */
type Lookup = (key: string) => string | null

/** Values that are a cause, and those that are a sentence which may end with one. */
const CAUSES: readonly string[] = ['cause', 'detail', 'reason']
const SENTENCES: readonly string[] = ['message']

/** The number of an error of the system adds nothing to its words. */
const NUMBER = /\s*\(os error \d+\)$/

/** What an action is done to: a path or a name. Anything else is a phrase that needs its own translation. */
const DOING = /^(\w+) (\S+)$/

/** A phrase, not a name, a code or an address. */
const ENGLISH = /[a-z] [a-z]/i

/** The value `name` of a sentence of the server in the language. What is unknown stays as it is, a phrase in quotes. */
export function causeIn(lookup: Lookup, name: string, value: string): string {
  const isCause = CAUSES.includes(name)
  if (!isCause && !SENTENCES.includes(name)) return value
  return known(lookup, value) ?? (isCause ? quoted(lookup, value) : value)
}

function known(lookup: Lookup, value: string): string | null {
  const text = value.trim().replace(/\.$/, '')
  const whole = lookup(`cause.${text.replace(NUMBER, '').toLowerCase()}`)
  const at = text.lastIndexOf(': ')
  if (whole !== null || at < 0) return whole
  const cause = known(lookup, text.slice(at + 2))
  const form = lookup('cause.of')
  return cause && form ? filled(form, { doing: action(lookup, text.slice(0, at)), cause }) : null
}

function action(lookup: Lookup, text: string): string {
  const [, verb = '', what = ''] = DOING.exec(text) ?? []
  const form = lookup(`doing.${verb}`)
  return form ? filled(form, { what }) : quoted(lookup, text)
}

function quoted(lookup: Lookup, text: string): string {
  const form = ENGLISH.test(text) ? lookup('cause.unknown') : null
  return form ? filled(form, { cause: text }) : text
}

/** The values are not searched for names again: they come from outside. */
const filled = (form: string, values: Record<string, string>): string =>
  form.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '')
