import type { ComponentType } from 'react'
import type { Step } from '@/thread/model'

export interface ToolDetailsProps {
  /** Unique on the page: the key for the state of collapsible parts. */
  id: string
  step: Step
}

/** How the calls of one tool are shown. */
export interface ToolRenderer {
  /** One line that distinguishes this call from other calls of the same tool. */
  summary: (step: Step) => string
  /** The content of an expanded call, below the decision of the person who was asked. */
  Details: ComponentType<ToolDetailsProps>
}
