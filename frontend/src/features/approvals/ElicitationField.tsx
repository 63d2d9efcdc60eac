import type { FormField } from '@/api/types'
import { Field } from '@/components/ui/Field'
import { Input } from '@/components/ui/Input'
import { Select } from '@/components/ui/Select'
import { useT } from '@/lib/i18n'
import { Checks } from './Checks'
import type { Entered } from './elicitation'

interface Props {
  field: FormField
  value: Entered
  error: string | null
  onChange: (value: Entered) => void
}

const INPUT_TYPES = { email: 'email', uri: 'url', date: 'date', 'date-time': 'datetime-local' } as const

/** One field of a form of an MCP server. All its words are the server's. */
export function ElicitationField({ field, value, error, onChange }: Props) {
  const t = useT()
  const hint = [field.description, !field.required && field.type !== 'boolean' && t('elicitOptional')]
  const words = hint.filter(part => typeof part === 'string' && part !== '').join(' · ')
  if (field.type === 'boolean' || field.type === 'choices')
    return <Checks field={field} value={value} hint={words} error={error} onChange={onChange} />
  const text = String(value)
  return (
    <Field label={field.label} hint={words} error={error}>
      {(described, labelId) =>
        field.type === 'choice' ? (
          <Select
            {...described}
            aria-labelledby={labelId}
            aria-invalid={error !== null}
            className="h-9 w-full text-[13px]"
            value={text}
            options={[
              { value: '', words: t('elicitNone') },
              ...field.options.map(option => ({ value: option.value, words: option.label })),
            ]}
            onChange={onChange}
          />
        ) : (
          <Input
            {...described}
            aria-invalid={error !== null}
            aria-required={field.required}
            autoComplete="off"
            type={field.type === 'text' && field.format ? INPUT_TYPES[field.format] : 'text'}
            inputMode={field.type === 'number' ? (field.whole ? 'numeric' : 'decimal') : undefined}
            className="w-full"
            value={text}
            onChange={event => onChange(event.target.value)}
          />
        )
      }
    </Field>
  )
}
