import { ToolChain } from '../ToolChain'
import type { SegmentProps } from './renderer'

export const ToolsSegment = ({ id, workId, segment, running, writing }: SegmentProps<'tools'>) => (
  <ToolChain {...{ id, workId, running, writing }} steps={segment.steps} />
)
