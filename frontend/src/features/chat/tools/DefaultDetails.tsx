import { Contacts } from '../Contacts'
import { CallInput, CallOutput } from './CallText'
import type { ToolDetailsProps } from './renderer'

export default function DefaultDetails({ step }: ToolDetailsProps) {
  return (
    <>
      <CallInput step={step} />
      <Contacts result={step.result} />
      <CallOutput step={step} format="plain" />
    </>
  )
}
