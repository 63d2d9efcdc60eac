import { Thinking } from '../Thinking'
import type { SegmentProps } from './renderer'

export const ThinkingSegment = ({ id, segment, live }: SegmentProps<'thinking'>) => (
  <Thinking id={id} text={segment.text} streaming={live} />
)
