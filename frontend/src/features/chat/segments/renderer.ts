import type { ComponentType } from 'react'
import type { InputProgress } from '@/api/types'
import type { Segment } from '@/thread/model'

export type SegmentKind = Segment['kind']
export type SegmentOf<K extends SegmentKind> = Extract<Segment, { kind: K }>

export interface SegmentProps<K extends SegmentKind> {
  /** Unique on the page: the key for the state of collapsible parts. */
  id: string
  workId: string
  segment: SegmentOf<K>
  /** The last segment of a running answer, to which text is still added. */
  live: boolean
  /** The answer that contains it is running. */
  running: boolean
  /** The call that the model is writing into this segment. */
  writing: InputProgress | null
}

export type SegmentRenderer<K extends SegmentKind> = ComponentType<SegmentProps<K>>
