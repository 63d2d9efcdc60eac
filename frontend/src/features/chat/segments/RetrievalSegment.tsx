import { RetrievalCard, RetrievedCard } from '../RetrievalCard'
import type { SegmentProps } from './renderer'

/** The passages found before the answer, as received from the stream. */
export const RetrievalSegment = ({ id, segment }: SegmentProps<'retrieval'>) => (
  <RetrievalCard id={id} query={segment.query} hits={segment.hits} search={segment.search} />
)

/** The same for an earlier answer: the server keeps the passages, which are loaded when the card is opened. */
export const RetrievedSegment = ({ id, workId, segment }: SegmentProps<'retrieved'>) => (
  <RetrievedCard
    id={id}
    sessionId={segment.sessionId}
    workId={workId}
    hits={segment.hits}
    withheld={segment.withheld}
  />
)
