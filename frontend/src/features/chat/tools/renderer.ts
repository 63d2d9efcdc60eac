import type { ComponentType } from 'react'
import type { Translate } from '@/lib/i18n'
import type { Step } from '@/thread/model'
import type { FailedItem } from './callData'

export interface ToolDetailsProps {
  /** Unique on the page: the key for the state of collapsible parts. */
  id: string
  step: Step
}

/** How the calls of one tool are shown. */
export interface ToolRenderer {
  /** What the call does, in words, in the place of the tool's name; null to show the name. */
  title?: (step: Step, t: Translate) => string | null
  /** The items of the call that failed. */
  failed?: (step: Step) => readonly FailedItem[]
  /** The id of the commands in the background that the call started; null if it started none. */
  job?: (step: Step) => string | null
  /** One line that distinguishes this call from other calls of the same tool. */
  summary: (step: Step) => string
  /** The content of an expanded call, below the decision of the person who was asked. */
  Details: ComponentType<ToolDetailsProps>
}
