import { RetrievalCard, RetrievedCard } from '../RetrievalCard'
import type { SegmentProps } from './renderer'

/** What a search before the answer found, as the stream told it. */
export const RetrievalSegment = ({ id, segment }: SegmentProps<'retrieval'>) => (
  <RetrievalCard id={id} query={segment.query} hits={segment.hits} search={segment.search} />
)

/** The same of an earlier answer: the server keeps the passages, and they are read when the card is opened. */
export const RetrievedSegment = ({ id, workId, segment }: SegmentProps<'retrieved'>) => (
  <RetrievedCard id={id} sessionId={segment.sessionId} workId={workId} hits={segment.hits} />
)
