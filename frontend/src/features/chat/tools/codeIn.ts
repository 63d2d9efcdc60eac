/** The argument of a tool that is code, and its language as the highlighter names it. */
const CODE: Readonly<Record<string, readonly [argument: string, language: string]>> = {
  terminal: ['command', 'bash'],
  python_repl: ['code', 'python'],
  sql: ['sql', 'sql'],
}

interface CallCode {
  text: string
  language: string
  /** The other arguments as JSON, and their names; empty if there are none. */
  rest: string
  restNames: string
}

/** The code in the arguments of a call: readable with its line breaks, unlike in JSON. Null if there is none. */
export function codeIn(tool: string, given: unknown): CallCode | null {
  const known = Object.hasOwn(CODE, tool) ? CODE[tool] : undefined
  if (!known || typeof given !== 'object' || given === null) return null
  const [argument, language] = known
  const { [argument]: text, ...others } = given as Record<string, unknown>
  if (typeof text !== 'string') return null
  const names = Object.keys(others)
  return {
    text,
    language,
    rest: names.length > 0 ? JSON.stringify(others, null, 2) : '',
    restNames: names.join(', '),
  }
}
