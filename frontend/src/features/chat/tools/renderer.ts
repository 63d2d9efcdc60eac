import type { ComponentType } from 'react'
import type { Step } from '@/thread/model'

export interface ToolDetailsProps {
  /** Unique on the page: the state of foldable parts is kept under it. */
  id: string
  step: Step
}

/** How the calls of one tool are shown. */
export interface ToolRenderer {
  /** One line that tells this call from another call of the same tool. */
  summary: (step: Step) => string
  /** What an opened call shows, below the answer of the person who was asked. */
  Details: ComponentType<ToolDetailsProps>
}
