import { Cited } from '@/components/Cited'
import { Highlighted } from '@/components/markdown/Highlighted'
import { CopyButton } from '@/components/ui/CopyButton'
import { prettyJson } from '@/lib/format'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import type { Step } from '@/thread/model'
import { codeIn } from './codeIn'

const json = (text: string): string => (/^[[{]/.test(text) ? 'json' : '')

/** The full input: code as code, everything else as JSON; the string that the model sent if it is not an object. */
export function CallInput({ step }: { step: Step }) {
  const t = useT()
  const given = step.arguments
  const code = codeIn(step.tool, given)
  const text = code
    ? code.text
    : typeof given === 'object' && given !== null
      ? JSON.stringify(given, null, 2)
      : prettyJson(typeof given === 'string' ? given : step.input)
  return (
    <>
      <CallText name={t('input')} text={text} language={code ? code.language : json(text)} />
      {code?.rest && <CallText name={`${t('input')}: ${code.restNames}`} text={code.rest} language="json" />}
    </>
  )
}

interface OutputProps {
  step: Step
  /** `cited`: places named in the output are links. */
  format: 'plain' | 'cited'
}

export function CallOutput({ step, format }: OutputProps) {
  const t = useT()
  const open = step.status === 'running' || step.status === 'approval'
  // Its row shows what it has written so far.
  if (open && step.output !== '') return null
  const text = prettyJson(step.output)
  return (
    <CallText
      name={t('output')}
      text={text}
      language={format === 'plain' && text !== step.output ? 'json' : ''}
      format={format}
      empty={t(open ? 'stillRunning' : 'noOutput')}
    />
  )
}

interface TextProps {
  name: string
  text: string
  language: string
  empty?: string
  format?: OutputProps['format']
}

function CallText({ name, text, language, empty, format = 'plain' }: TextProps) {
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
            <Highlighted code={text} language={language} />
          )
        ) : (
          <span className="text-fg-3">{empty}</span>
        )}
      </pre>
    </section>
  )
}
