/** What a person names while they write: `@server:address` for a resource, `/server:prompt` at the beginning for a prompt. */
export interface Wanted {
  kind: 'resource' | 'prompt'
  /** The name of a server, as far as it is written. */
  server: string
  /** What is written after the colon; null before there is one. */
  query: string | null
  /** Where it begins in the text. */
  from: number
}

const PROMPT = /^\/([A-Za-z0-9_-]{0,32})(?::(\S*))?$/
const RESOURCE = /(^|\s)@([A-Za-z0-9_-]{0,32})(?::(\S*))?$/

/** `before` is the text before the caret. */
export function wantedAt(before: string): Wanted | null {
  const prompt = PROMPT.exec(before)
  if (prompt) return { kind: 'prompt', server: prompt[1] ?? '', query: prompt[2] ?? null, from: 0 }
  const resource = RESOURCE.exec(before)
  if (!resource) return null
  const from = resource.index + (resource[1]?.length ?? 0)
  return { kind: 'resource', server: resource[2] ?? '', query: resource[3] ?? null, from }
}

/** The name of the file that a resource becomes: its last part, with letters that every name can have. */
export function fileNameOf(server: string, uri: string): string {
  const last = uri.split(/[?#]/)[0]?.split('/').filter(Boolean).at(-1) ?? ''
  const plain = `${server}-${last.replace(/[^\p{L}\p{N}._-]+/gu, '-').slice(0, 60)}`
  return /\.[A-Za-z0-9]{1,8}$/.test(plain) ? plain : `${plain}.txt`
}
