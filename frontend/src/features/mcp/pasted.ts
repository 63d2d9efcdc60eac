/** The object that the README of an MCP server shows, as people paste it. */

/** The entries by name; null if the text is no such object. What is inside `mcpServers` is enough. */
export function pasted(text: string): Record<string, never> | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  const inner = isObject(value) && isObject(value.mcpServers) ? value.mcpServers : value
  if (!isObject(inner)) return null
  const entries = Object.values(inner)
  return entries.length > 0 && entries.every(isObject) ? (inner as Record<string, never>) : null
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** JSON with line breaks, for a person; the text itself if it is no JSON. */
export function readable(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
  } catch {
    return json
  }
}

/** The command that installs what an entry would fetch at every start with `npx`; null if it is no such entry. */
export function installCommand(name: string, json: string): string | null {
  let entry: unknown
  try {
    entry = JSON.parse(json)
  } catch {
    return null
  }
  if (!isObject(entry) || typeof entry.command !== 'string' || !/(^|\/)npx$/.test(entry.command)) return null
  const args = Array.isArray(entry.args) ? entry.args.filter(arg => typeof arg === 'string') : []
  const at = args.findIndex(arg => !arg.startsWith('-'))
  const wanted = args[at]
  if (wanted === undefined || !/^(@[\w.~-]+\/)?[\w.~-]+(@[\w.+-]+)?$/.test(wanted)) return null
  const version = /.@(\d+\.\d+\.\d+[\w.+-]*)$/.exec(wanted)?.[1] ?? 'VERSION'
  const bare = wanted.replace(/(.)@[\w.+-]+$/, '$1')
  const rest = args
    .slice(at + 1)
    .map(arg => (/^[\w./:=@-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`))
  return [
    `miniclaw mcp add npm:${bare}@${version} --as ${name}`,
    ...(rest.length > 0 ? ['--', ...rest] : []),
  ].join(' ')
}
