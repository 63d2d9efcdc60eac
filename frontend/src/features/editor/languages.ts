import type { Extension } from '@codemirror/state'

const LOADERS: Record<string, () => Promise<Extension>> = {
  md: async () => (await import('@codemirror/lang-markdown')).markdown(),
  json: async () => (await import('@codemirror/lang-json')).json(),
  yaml: async () => (await import('@codemirror/lang-yaml')).yaml(),
}
const ALIASES: Record<string, string> = { markdown: 'md', yml: 'yaml', jsonl: 'json' }

/** The language of a file by its ending, or none. */
export async function languageOf(path: string): Promise<Extension> {
  const ending = path.slice(path.lastIndexOf('.') + 1).toLowerCase()
  return (await LOADERS[ALIASES[ending] ?? ending]?.()) ?? []
}
