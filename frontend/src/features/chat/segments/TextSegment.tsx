import { Markdown } from '@/components/markdown/Markdown'
import { cn } from '@/lib/cn'
import type { SegmentProps } from './renderer'

export const TextSegment = ({ segment, live }: SegmentProps<'text'>) => (
  <div className={cn(live && 'with-caret')}>
    <Markdown text={segment.text} streaming={live} />
  </div>
)
