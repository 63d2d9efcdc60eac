import type { Chosen } from '@/api/types'

/** Switches an MCP server on or off in a conversation; everything else that is chosen for it stays. */
export function withServer(chosen: Chosen, name: string, on: boolean): Chosen {
  const { mcp_off = [], ...rest } = chosen
  const others = mcp_off.filter(other => other !== name)
  const off = on ? others : [...others, name].sort()
  return off.length === 0 ? rest : { ...rest, mcp_off: off }
}
