/**
 * Fixes of problems in a SKILL.md: pure functions from text to text. A fix is offered only if the text that it makes no
 * longer has the problem and has no worse one.
 */
import { isScalar, parseDocument, stringify } from 'yaml'
import {
  Fields,
  frontMatterOf,
  hyphened,
  isPlainName,
  lineOf,
  type Problem,
  type ProblemCode,
  problemsIn,
} from './check'

export interface Fix {
  /** `fix` solves the problem; `write` makes the place for what only a person can write. */
  kind: 'fix' | 'write'
  text: string
  /** Where the cursor belongs in the new text; null after the change. */
  cursor: number | null
}

type Edit = Omit<Fix, 'kind'>

/** A value as YAML on one line, quoted where it has to be. */
export const yamlOf = (value: string): string => stringify(value, { lineWidth: 0 }).trimEnd()
const quoted = (value: string): string =>
  stringify(value, { lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE' }).trimEnd()

/** Problems that hide all others, because nothing can be read. */
const UNREAD: readonly ProblemCode[] = ['no_front_matter', 'not_closed', 'too_long', 'not_yaml', 'not_fields']

const weight = (problems: readonly Problem[]): number =>
  problems.reduce((sum, { code }) => sum + (UNREAD.includes(code) ? 10 : 1), 0)

/** The first edit that leaves the fewest problems, if it solves this one. */
function best(code: ProblemCode, text: string, folder: string): Edit | null {
  let found: Edit | null = null
  let least = weight(problemsIn(text, folder))
  for (const edit of editsOf(code, text, folder)) {
    const left = problemsIn(edit.text, folder)
    if (left.some(problem => problem.code === code) || weight(left) >= least) continue
    found = edit
    least = weight(left)
  }
  return found
}

export function fixOf(code: ProblemCode, text: string, folder: string): Fix | null {
  const found = best(code, text, folder)
  if (found) return { kind: 'fix', ...found }
  const place = code === 'no_description' ? placeOfDescription(text) : null
  return place && { kind: 'write', ...place }
}

function editsOf(code: ProblemCode, text: string, folder: string): Edit[] {
  const plain = (text: string): Edit => ({ text, cursor: null })
  switch (code) {
    case 'no_front_matter':
      return withFrontMatter(text, folder)
    case 'not_closed':
      return closed(text).map(plain)
    case 'not_yaml':
      return [indented(text), quotedFields(text), quotedFields(indented(text))].map(plain)
    case 'not_fields':
      return emptyFilled(text, folder)
    case 'no_name':
    case 'long_name':
    case 'name_form':
    case 'folder_name':
      return namesFor(text, folder)
        .flatMap(name => withName(text, name))
        .map(plain)
    case 'too_long':
    case 'metadata':
    case 'no_description':
    case 'long_description':
      return []
  }
}

const blank = (folder: string): string => `name: ${yamlOf(nameOf(folder))}\ndescription: `

function withFrontMatter(text: string, folder: string): Edit[] {
  const bare = text.replace(/^\ufeff/, '').replace(/^\s*\n/, '')
  const head = `---\n${blank(folder)}`
  return [
    { text: bare, cursor: null },
    ...(/^(?:name|description)\s*:/.test(bare)
      ? closed(`---\n${bare}`).map(text => ({ text, cursor: null }))
      : []),
    { text: `${head}\n---\n\n${bare}`, cursor: head.length },
  ]
}

/** The line --- belongs after the last line that can be part of a field. */
function closed(text: string): string[] {
  const lines = text.split('\n')
  const isField = (line: string) => /^[A-Za-z][\w-]*\s*:(?:\s|$)|^\s+\S|^- /.test(line)
  const after = lines.findIndex((line, n) => n > 0 && !isField(line))
  const end = after < 0 ? lines.length : after
  if (end < 2) return []
  const fence = lines[0]?.endsWith('\r') ? '---\r' : '---'
  const rest = lines.slice(end)
  return [[...lines.slice(0, end), fence, ...(rest.length > 0 ? rest : [''])].join('\n')]
}

function emptyFilled(text: string, folder: string): Edit[] {
  const found = frontMatterOf(text)
  if (typeof found === 'string' || found.yaml.trim() !== '') return []
  const head = text.slice(0, found.at) + blank(folder)
  return [{ text: `${head}\n${text.slice(found.at + found.yaml.length)}`, cursor: head.length }]
}

/** The text with its front matter changed line by line. */
function mapLines(text: string, change: (line: string, next: string) => string): string {
  const found = frontMatterOf(text)
  if (typeof found === 'string') return text
  const lines = found.yaml.split('\n')
  const yaml = lines.map((line, n) => change(line, lines[n + 1] ?? '')).join('\n')
  return text.slice(0, found.at) + yaml + text.slice(found.at + found.yaml.length)
}

const indented = (text: string): string =>
  mapLines(text, line => line.replace(/^[ \t]*\t[ \t]*/, space => space.replaceAll('\t', '  ')))

/** Quotes the values that are not YAML by themselves. A value that is meant to be a list stays as it is. */
const quotedFields = (text: string): string =>
  mapLines(text, (line, next) => {
    const [, key, value = ''] =
      /^((?:name|description|license|compatibility)\s*:\s+)([^\s"'|>].*?)\s*$/.exec(line) ?? []
    if (!key || /^\s+\S/.test(next) || parseDocument(line).errors.length === 0) return line
    return `${key}${quoted(value)}`
  })

/** The name that matches a folder and that other agents accept, if there is one. */
const nameOf = (folder: string): string => (isPlainName(hyphened(folder)) ? hyphened(folder) : folder)

/** A name in the form that all agents accept; empty if it has no such letter. */
export const slugOf = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 64)
    .replace(/^-+|-+$/g, '')

function namesFor(text: string, folder: string): string[] {
  const found = frontMatterOf(text)
  const read = typeof found === 'string' ? null : new Fields(found.yaml).read()
  const given = read && 'values' in read ? slugOf(lineOf(read.values.name)) : ''
  return [nameOf(folder), folder, ...(given ? [given] : [])]
}

/** The text with this name; empty if its name is a list or an object, which only a person can judge. */
function withName(text: string, name: string): string[] {
  const found = frontMatterOf(text)
  if (typeof found === 'string') return []
  const pair = new Fields(found.yaml).pair('name')
  const yaml = yamlOf(name)
  if (!pair) return [`${text.slice(0, found.at)}name: ${yaml}\n${text.slice(found.at)}`]
  if (!isScalar(pair.value) || !pair.value.range) return []
  const [from, to] = [found.at + pair.value.range[0], found.at + pair.value.range[1]]
  const before = text.slice(0, from)
  const end = text.slice(from, to).endsWith('\n') ? '\n' : ''
  return [`${before}${before.endsWith(':') ? ' ' : ''}${yaml}${end}${text.slice(to)}`]
}

/** The text with a line for the description, and the place in it; null if it has a value that is not text. */
function placeOfDescription(text: string): Edit | null {
  const found = frontMatterOf(text)
  if (typeof found === 'string') return null
  const { yaml, at } = found
  const fields = new Fields(yaml)
  const pair = fields.pair('description')
  if (!pair) {
    const line = fields.lineOf('name')
    const lines = yaml.split('\n')
    // After the line of the name, unless its value continues on the next one.
    const here = line !== null && !/^\s+\S/.test(lines[line - 1] ?? '') ? line - 1 : 0
    const head = `${text.slice(0, at)}${lines
      .slice(0, here)
      .map(line => `${line}\n`)
      .join('')}description: `
    const rest = lines.slice(here).join('\n')
    return { text: `${head}\n${rest}${text.slice(at + yaml.length)}`, cursor: head.length }
  }
  if (!isScalar(pair.value) || lineOf(pair.value.value) !== '' || !pair.value.range) return null
  const from = at + pair.value.range[0]
  const quotes = pair.value.type === 'QUOTE_DOUBLE' || pair.value.type === 'QUOTE_SINGLE'
  if (quotes) return { text, cursor: from + 1 }
  const space = text[from - 1] === ':' ? ' ' : ''
  const head = text.slice(0, from) + space
  return { text: head + text.slice(from), cursor: head.length }
}
