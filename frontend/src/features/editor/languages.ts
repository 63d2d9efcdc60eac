import type { Extension } from '@codemirror/state'

/** Markdown, with the fields at its top. */
const markdown = async () => {
  const [{ markdown }, { yamlFrontmatter }] = await Promise.all([
    import('./markdown'),
    import('@codemirror/lang-yaml'),
  ])
  return yamlFrontmatter({ content: markdown() })
}
const json = async () => (await import('@codemirror/lang-json')).json()
const yaml = async () => (await import('@codemirror/lang-yaml')).yaml()

const LOADERS = new Map<string, () => Promise<Extension>>([
  ['md', markdown],
  ['markdown', markdown],
  ['json', json],
  ['jsonl', json],
  ['yaml', yaml],
  ['yml', yaml],
])
const loaded = new Map<string, Extension>()

const endingOf = (path: string): string => path.slice(path.lastIndexOf('.') + 1).toLowerCase()

/** The language for a file's extension: empty if there is none, undefined while it is not loaded. */
export const languageIfLoaded = (path: string): Extension | undefined =>
  LOADERS.has(endingOf(path)) ? loaded.get(endingOf(path)) : []

/** Loads the language of a file. If that fails, the text is not highlighted. */
export async function languageOf(path: string): Promise<Extension> {
  const ending = endingOf(path)
  const found = await LOADERS.get(ending)?.().catch(() => undefined)
  if (found) loaded.set(ending, found)
  return found ?? []
}
