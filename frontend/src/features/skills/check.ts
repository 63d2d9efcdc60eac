/**
 * What is wrong with the text of a SKILL.md: the rules of the server (src/skills), for a text that is not saved yet. The
 * codes are the server's; a test compares the two.
 */
import { type Document, isMap, isScalar, LineCounter, type Pair, parseDocument, type YAMLError } from 'yaml'

/** The server shows the model no more of them, in characters. */
export const NAME_LIMIT = 64
export const DESCRIPTION_LIMIT = 1024
/** The size of a front matter in bytes. */
const SIZE_LIMIT = 64 * 1024

/** A broken text is not offered to the model, because of the first of these. */
export const BROKEN = [
  'no_front_matter',
  'not_closed',
  'too_long',
  'not_yaml',
  'not_fields',
  'no_name',
  'no_description',
] as const
export const IMPERFECT = ['metadata', 'long_name', 'name_form', 'folder_name', 'long_description'] as const
export type ProblemCode = (typeof BROKEN)[number] | (typeof IMPERFECT)[number]

/** Why a front matter is not YAML; `other` if only the parser's own words say it. */
export type YamlFault = 'colon' | 'twice' | 'tab' | 'open' | 'start' | 'other'

export interface Problem {
  code: ProblemCode
  /** 1-based, in the file; null if the problem has no line. */
  line: number | null
  about: Record<string, string | number>
  fault?: YamlFault
}

export interface FrontMatter {
  /** The text between the two lines `---`, and where it starts in the file. */
  yaml: string
  at: number
}

const isFence = (line: string): boolean => line.trimEnd() === '---'
export const isBroken = ({ code }: { code: string }): boolean => BROKEN.some(known => known === code)
/** The server counts Unicode scalar values. */
export const lengthOf = (text: string): number => [...text].length
export const isPlainName = (name: string): boolean => /^[a-z0-9-]{1,64}$/.test(name)

/** The front matter of a file, or why it has none. */
export function frontMatterOf(text: string): FrontMatter | 'no_front_matter' | 'not_closed' {
  const start = text.startsWith('\ufeff') ? 1 : 0
  const lines = text.slice(start).split('\n')
  const [first = '', ...rest] = lines
  if (!isFence(first) || lines.length === 1) return isFence(first) ? 'not_closed' : 'no_front_matter'
  const end = rest.findIndex(isFence)
  if (end < 0) return 'not_closed'
  const yaml = rest.slice(0, end).map(line => `${line}\n`)
  return { yaml: yaml.join(''), at: start + first.length + 1 }
}

const FAULTS: Partial<Record<string, YamlFault>> = {
  BLOCK_AS_IMPLICIT_KEY: 'colon',
  DUPLICATE_KEY: 'twice',
  TAB_AS_INDENT: 'tab',
  MISSING_CHAR: 'open',
  BAD_INDENT: 'open',
  BAD_SCALAR_START: 'start',
}

/** A front matter that is parsed. Lines are those of the file. */
export class Fields {
  readonly #document: Document.Parsed
  readonly #lines = new LineCounter()

  constructor(yaml: string) {
    this.#document = parseDocument(yaml, { prettyErrors: false, lineCounter: this.#lines })
  }

  get #pairs(): Pair[] {
    const { contents } = this.#document
    return isMap(contents) ? contents.items : []
  }

  pair(key: string): Pair | null {
    return this.#pairs.find(pair => isScalar(pair.key) && pair.key.value === key) ?? null
  }

  /** The line of a field; the first line of the file is a `---`. */
  lineOf(key: string): number | null {
    const pair = this.pair(key)
    return pair && isScalar(pair.key) ? this.#lineAt(pair.key.range?.[0] ?? 0) : null
  }

  #lineAt(offset: number): number {
    return this.#lines.linePos(offset).line + 1
  }

  /** Returns the values, or why there are none. */
  read(): { values: Values } | { problem: Problem } {
    const [error] = this.#document.errors
    if (error) return { problem: this.#notYaml(error) }
    if (!isMap(this.#document.contents)) return { problem: { code: 'not_fields', line: 2, about: {} } }
    try {
      return { values: this.#document.toJS() as Values }
    } catch (thrown) {
      return { problem: unreadable(thrown) }
    }
  }

  #notYaml({ code, message, pos: [at] }: YAMLError): Problem {
    const fault = FAULTS[code] ?? 'other'
    // A quote or bracket that is not closed is noticed at the end: it opens in the last field before.
    const starts = this.#pairs.flatMap(({ key }) => (isScalar(key) ? (key.range?.[0] ?? []) : []))
    const from = fault === 'open' ? Math.max(0, ...starts.filter(start => start <= at)) : at
    return { code: 'not_yaml', line: this.#lineAt(from), about: { reason: message }, fault }
  }
}

type Values = Readonly<Record<string, unknown>>

const unreadable = (thrown: unknown): Problem => ({
  code: 'not_yaml',
  line: null,
  about: { reason: thrown instanceof Error ? thrown.message : String(thrown) },
  fault: 'other',
})

/** A value as one line of text, as the server reads it; empty for a list or an object. */
export function lineOf(value: unknown): string {
  if (typeof value === 'string') return value.split(/\s+/).filter(Boolean).join(' ')
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}

/** The problems of a text, those that break the skill first. `folder` is the name of the skill's folder. */
export function problemsIn(text: string, folder: string): Problem[] {
  const found = frontMatterOf(text)
  if (typeof found === 'string') return [{ code: found, line: 1, about: {} }]
  if (new TextEncoder().encode(found.yaml).length > SIZE_LIMIT)
    return [{ code: 'too_long', line: 1, about: {} }]
  try {
    const fields = new Fields(found.yaml)
    const read = fields.read()
    return 'problem' in read ? [read.problem] : checked(fields, read.values, folder)
  } catch (thrown) {
    // Very deep nesting exhausts the parser.
    return [unreadable(thrown)]
  }
}

function checked(fields: Fields, values: Values, folder: string): Problem[] {
  const problems: Problem[] = []
  const add = (code: ProblemCode, key: string, about: Problem['about'] = {}) =>
    problems.push({ code, line: fields.lineOf(key), about })
  const given = lineOf(values.name)
  const name = given || folder
  const description = lineOf(values.description)
  if (!given) add('no_name', 'name')
  if (!description) add('no_description', 'description')
  const { metadata } = values
  const isList = Array.isArray(metadata) || (metadata != null && typeof metadata !== 'object')
  if (isList) add('metadata', 'metadata')
  if (lengthOf(name) > NAME_LIMIT) add('long_name', 'name', { n: NAME_LIMIT })
  if (!isPlainName(name)) add('name_form', 'name')
  if (hyphened(name) !== hyphened(folder)) add('folder_name', 'name', { folder })
  const length = lengthOf(description)
  if (length > DESCRIPTION_LIMIT) add('long_description', 'description', { length, n: DESCRIPTION_LIMIT })
  return problems
}

/** The server takes `_` in a folder's name for `-`. */
export const hyphened = (name: string): string => name.replaceAll('_', '-')
