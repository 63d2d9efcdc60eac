import type { ComponentType } from 'react'
import type { InputProgress } from '@/api/types'
import type { Segment } from '@/thread/model'

export type SegmentKind = Segment['kind']
export type SegmentOf<K extends SegmentKind> = Extract<Segment, { kind: K }>

export interface SegmentProps<K extends SegmentKind> {
  /** Unique on the page: the state of foldable parts is kept under it. */
  id: string
  workId: string
  segment: SegmentOf<K>
  /** It is the last segment of a running answer: text is still added to it. */
  live: boolean
  /** The answer it is part of is running. */
  running: boolean
  /** The call that the model is writing into this segment. */
  writing: InputProgress | null
}

export type SegmentRenderer<K extends SegmentKind> = ComponentType<SegmentProps<K>>
