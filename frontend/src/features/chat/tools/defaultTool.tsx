import { onDemand } from '@/components/onDemand'
import { Pending } from '@/components/ui/Skeleton'
import type { Step } from '@/thread/model'
import type { ToolRenderer } from './renderer'

/** The `path` argument of a call, or else its whole input. */
export function pathOrInput({ arguments: given, input }: Step): string {
  const path = typeof given === 'object' && given !== null && 'path' in given ? given.path : null
  return typeof path === 'string' ? path : input
}

/** The renderer for a tool without one of its own. */
export const defaultTool: ToolRenderer = {
  summary: pathOrInput,
  Details: onDemand(() => import('./DefaultDetails'), Pending),
}
