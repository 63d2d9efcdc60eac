/** The front matter of a note. */
import { isMap, isScalar, isSeq, parseDocument } from 'yaml'
import { tagIn } from './text'

export interface Property {
  name: string
  values: readonly string[]
  /** The values are tags. */
  tags: boolean
}

export interface SplitNote {
  /** Null if there is no front matter, or it is not YAML. */
  properties: readonly Property[] | null
  /** The YAML as written; null without front matter. */
  yaml: string | null
  body: string
}

const FRONT_MATTER = /^---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/
const LARGEST = 65_536

export function splitNote(text: string): SplitNote {
  const found = FRONT_MATTER.exec(text)
  if (!found) return { properties: null, yaml: null, body: text }
  const yaml = found[1] ?? ''
  return { properties: propertiesOf(yaml), yaml, body: text.slice(found[0].length) }
}

function propertiesOf(yaml: string): Property[] | null {
  if (yaml.length > LARGEST) return null
  const document = parseDocument(yaml, { prettyErrors: false, uniqueKeys: false })
  const fields = document.contents
  if (document.errors.length > 0 || (fields !== null && !isMap(fields))) return null
  return (fields?.items ?? []).map(({ key, value }) => {
    const name = isScalar(key) ? String(key.value) : String(key)
    const tags = /^tags?$/i.test(name)
    const values = isSeq(value) ? value.items.map(shown) : [shown(value)]
    const separate = tags && !isSeq(value) ? values.flatMap(text => text.split(/[\s,]+/)) : values
    const plain = tags ? separate.map(tag => tag.replace(/^#/, '')).filter(tag => tagIn(tag) !== '') : values
    return { name, values: plain.filter(text => text !== ''), tags }
  })
}

function shown(value: unknown): string {
  if (isScalar(value)) return value.value === null ? '' : (value.source ?? String(value.value))
  return value === null || value === undefined ? '' : String(value)
}
