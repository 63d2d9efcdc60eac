import { useId } from 'react'
import type { FormField } from '@/api/types'
import { ErrorText } from '@/components/ui/ErrorText'
import type { Entered } from './elicitation'

interface Props {
  field: FormField & { type: 'boolean' | 'choices' }
  value: Entered
  hint: string
  error: string | null
  onChange: (value: Entered) => void
}

/** A yes or no, or several options to choose from. */
export function Checks({ field, value, hint, error, onChange }: Props) {
  const id = useId()
  const below = error ? (
    <ErrorText>{error}</ErrorText>
  ) : (
    hint !== '' && <p className="text-fg-3 text-small">{hint}</p>
  )
  if (field.type === 'boolean')
    return (
      <div className="space-y-1">
        <Check
          label={field.label}
          on={value === true}
          describedBy={id}
          invalid={error !== null}
          onChange={onChange}
        />
        <div id={id}>{below}</div>
      </div>
    )
  const chosen = Array.isArray(value) ? (value as readonly string[]) : []
  return (
    <fieldset aria-describedby={id} className="space-y-1 text-[13px]">
      <legend className="mb-1 font-medium">{field.label}</legend>
      {field.options.map(option => (
        <Check
          key={option.value}
          label={option.label}
          on={chosen.includes(option.value)}
          invalid={error !== null}
          onChange={on =>
            onChange(on ? [...chosen, option.value] : chosen.filter(other => other !== option.value))
          }
        />
      ))}
      <div id={id}>{below}</div>
    </fieldset>
  )
}

interface CheckProps {
  label: string
  on: boolean
  describedBy?: string
  invalid: boolean
  onChange: (on: boolean) => void
}

function Check({ label, on, describedBy, invalid, onChange }: CheckProps) {
  return (
    <label className="flex items-start gap-2 text-[13px] pointer-coarse:min-h-11 pointer-coarse:items-center">
      <input
        type="checkbox"
        className="mt-0.5 size-4 shrink-0 accent-[var(--accent)]"
        checked={on}
        aria-describedby={describedBy}
        aria-invalid={invalid}
        onChange={event => onChange(event.target.checked)}
      />
      <span className="min-w-0 [overflow-wrap:anywhere]">{label}</span>
    </label>
  )
}
