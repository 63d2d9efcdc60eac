/** Renders one segment of an answer with the renderer of its kind. A kind without an entry does not compile. */
import { RetrievalSegment, RetrievedSegment } from './RetrievalSegment'
import type { SegmentKind, SegmentProps, SegmentRenderer } from './renderer'
import { TextSegment } from './TextSegment'
import { ThinkingSegment } from './ThinkingSegment'
import { ToolsSegment } from './ToolsSegment'

const RENDERERS: { readonly [K in SegmentKind]: SegmentRenderer<K> } = {
  retrieval: RetrievalSegment,
  retrieved: RetrievedSegment,
  text: TextSegment,
  thinking: ThinkingSegment,
  tools: ToolsSegment,
}

export function SegmentView<K extends SegmentKind>(props: SegmentProps<K>) {
  // TypeScript cannot infer that the entry of `kind` accepts a segment of `kind`.
  const Renderer = RENDERERS[props.segment.kind as K] as SegmentRenderer<K>
  return <Renderer {...props} />
}
