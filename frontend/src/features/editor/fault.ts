/** Finds errors in a text that another program has to parse. */

import { createsSkills, type FileRef } from '@/lib/roots'

/** JSON and YAML by the file's extension, and the front matter of a SKILL.md. */
function partsOf({ root, path }: FileRef, text: string): { json?: string; yaml?: string } {
  if (/\.json$/i.test(path)) return { json: text }
  if (/\.ya?ml$/i.test(path)) return { yaml: text }
  if (!createsSkills(root) || !/(?:^|\/)SKILL\.md$/i.test(path)) return {}
  return { yaml: /^---\r?\n([\s\S]*?\n)?---(?:\r?\n|$)/.exec(text)?.[1] }
}

/** The parser's error message; null if the text parses, or if no program reads it. */
export async function faultIn(file: FileRef, text: string): Promise<string | null> {
  const { json, yaml } = partsOf(file, text)
  if (json?.trim()) {
    try {
      JSON.parse(json)
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
  if (!yaml?.trim()) return null
  const { parseAllDocuments } = await import('yaml')
  const documents = parseAllDocuments(yaml)
  const [first] = [...documents].flatMap(document => document.errors)
  return first ? (first.message.split('\n')[0] ?? '').replace(/:$/, '') : null
}
