import { Cited } from '@/components/Cited'
import { CopyButton } from '@/components/ui/CopyButton'
import { prettyJson } from '@/lib/format'
import { useT } from '@/lib/i18n'
import type { Step } from '@/thread/model'

/** The full input: as JSON if it is an object, else the string that the model sent. */
function fullInput(step: Step): string {
  if (typeof step.arguments === 'object' && step.arguments !== null)
    return JSON.stringify(step.arguments, null, 2)
  return prettyJson(typeof step.arguments === 'string' ? step.arguments : step.input)
}

export function CallInput({ step }: { step: Step }) {
  const t = useT()
  return <CallText name={t('input')} text={fullInput(step)} />
}

interface OutputProps {
  step: Step
  /** `cited`: places named in the output are links. */
  format: 'plain' | 'cited'
}

export function CallOutput({ step, format }: OutputProps) {
  const t = useT()
  const open = step.status === 'running' || step.status === 'approval'
  return (
    <CallText
      name={t('output')}
      text={prettyJson(step.output)}
      format={format}
      empty={t(open ? 'stillRunning' : 'noOutput')}
    />
  )
}

interface TextProps {
  name: string
  text: string
  empty?: string
  format?: OutputProps['format']
}

function CallText({ name, text, empty, format = 'plain' }: TextProps) {
  return (
    <section aria-label={name} className="overflow-hidden rounded-md border bg-code">
      <div className="flex items-center justify-between border-b py-0.5 ps-2.5 pe-1 text-fg-2 text-meta">
        {name}
        {text && <CopyButton text={() => text} label={name} />}
      </div>
      <pre tabIndex={0} className="scroll plain max-h-80 whitespace-pre-wrap p-2.5 [overflow-wrap:anywhere]">
        {text ? (
          format === 'cited' ? (
            <Cited text={text} />
          ) : (
            text
          )
        ) : (
          <span className="text-fg-3">{empty}</span>
        )}
      </pre>
    </section>
  )
}
