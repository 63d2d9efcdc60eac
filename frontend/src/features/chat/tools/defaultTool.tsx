import type { Approval } from '@/api/types'
import type { Translate } from '@/lib/i18n'
import type { Step } from '@/thread/model'
import { Contacts } from '../Contacts'
import { CallInput, CallOutput } from './CallText'
import type { ToolDetailsProps, ToolRenderer } from './renderer'

/** The `path` argument of a call, or else its whole input. */
export function pathOrInput({ arguments: given, input }: Step): string {
  const path = typeof given === 'object' && given !== null && 'path' in given ? given.path : null
  return typeof path === 'string' ? path : input
}

function Details({ step }: ToolDetailsProps) {
  return (
    <>
      <CallInput step={step} />
      <Contacts result={step.result} />
      <CallOutput step={step} format="plain" />
    </>
  )
}

/** What a call would do, by the file that it names or else by the effect of its tool. */
function approvalTitle({ tool, effect, shown }: Approval, t: Translate): string {
  if (shown.path) return t('approvalWrite', { path: shown.path })
  if (effect === 'execute') return t('approvalCode')
  return effect === 'network' ? t('approvalNetwork') : t('approvalUse', { tool })
}

/** The renderer for a tool without one of its own. */
export const defaultTool: ToolRenderer = { summary: pathOrInput, approvalTitle, Details }
