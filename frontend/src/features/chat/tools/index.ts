/** The renderers by tool. A tool gets its own by a file in this folder and an entry below. */
import { defaultTool } from './defaultTool'
import type { ToolRenderer } from './renderer'
import { searchTool } from './searchTool'

const RENDERERS: ReadonlyMap<string, ToolRenderer> = new Map([
  ['search_knowledge_base', searchTool('knowledge')],
  ['search_memory', searchTool('memory')],
])

/** The renderer of a tool by its name; `defaultTool` for a name without an entry. */
export const rendererOfTool = (tool: string): ToolRenderer => RENDERERS.get(tool) ?? defaultTool
