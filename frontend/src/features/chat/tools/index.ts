/** The renderers by tool. A tool gets its own by a file in this folder and an entry below. */
import { ROOT_TRAITS, SEARCH_FOLDERS } from '@/lib/roots'
import { defaultTool } from './defaultTool'
import { PROJECT_TOOLS } from './projectTools'
import type { ToolRenderer } from './renderer'
import { searchTool } from './searchTool'

const RENDERERS: ReadonlyMap<string, ToolRenderer> = new Map([
  ...PROJECT_TOOLS,
  ...SEARCH_FOLDERS.map(folder => [ROOT_TRAITS[folder].searchTool, searchTool(folder)] as const),
])

/** The renderer of a tool by its name; `defaultTool` for a name without an entry. */
export const rendererOfTool = (tool: string): ToolRenderer => RENDERERS.get(tool) ?? defaultTool
