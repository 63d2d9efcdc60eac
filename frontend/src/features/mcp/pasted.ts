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
