import { type FormEvent, type RefObject, useState } from 'react'
import type { Answer } from '@/api/approvals'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { TextArea } from '@/components/ui/Input'
import { useT } from '@/lib/i18n'
import { argumentsOf, fieldsOf } from './fields'

interface Props {
  form: RefObject<HTMLFormElement | null>
  args: unknown
  busy: boolean
  onAnswer: (answer: Answer) => void
  onBack: () => void
}

/** A form that changes a call's input before it is allowed. Changed input is marked as such afterwards. */
export function InputForm({ form, args, busy, onAnswer, onBack }: Props) {
  const t = useT()
  const [fields, setFields] = useState(() => fieldsOf(args))
  const [wrong, setWrong] = useState(false)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const made = argumentsOf(fields)
    setWrong(made === null)
    if (made) onAnswer({ decision: 'approve', arguments: made.value })
  }
  return (
    <form onSubmit={submit} ref={form} className="space-y-2">
      {fields.map((field, at) => (
        <label key={field.name} className="block text-fg-2 text-small">
          <span className="font-mono">{field.name || t('input')}</span>
          <TextArea
            mono
            // The person has just asked to edit it.
            autoFocus={at === 0}
            rows={Math.min(12, field.text.split('\n').length + 1)}
            spellCheck={false}
            value={field.text}
            onChange={event => setFields(fields.with(at, { ...field, text: event.target.value }))}
            className="mt-1"
          />
        </label>
      ))}
      {wrong && <ErrorText>{t('notJson')}</ErrorText>}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="solid" disabled={busy}>
          {t('allowChanged')}
        </Button>
        <Button look="ghost" onClick={onBack}>
          {t('back')}
        </Button>
      </div>
    </form>
  )
}
