import { onDemand } from '@/components/onDemand'
import { Pending } from '@/components/ui/Skeleton'
import type { SearchFolder } from '@/lib/roots'
import { defaultTool } from './defaultTool'
import type { ToolRenderer } from './renderer'

const SearchDetails = onDemand(() => import('./SearchDetails'), Pending)

/** The renderer for a tool that searches `folder`: its passages, and links to the places named in its output. */
export const searchTool = (folder: SearchFolder): ToolRenderer => ({
  ...defaultTool,
  Details: props => <SearchDetails {...props} folder={folder} />,
})
