import { RotateCcw } from 'lucide-react'
import type { ComponentProps, MouseEvent } from 'react'
import { IconButton } from '@/components/ui/Button'
import { Field } from '@/components/ui/Field'
import { type Key, useT } from '@/lib/i18n'
import type { Edits } from './useEdits'
import type { Field as FieldName } from './values'

interface Props extends Pick<Edits, 'values' | 'problemOf' | 'edit'> {
  field: FieldName
  label: Key
  hint: Key
  end?: string | undefined
  /** It cannot be changed now. */
  locked?: boolean
  children: ComponentProps<typeof Field>['children']
}

/** A value with its field and, while it is set, a button that resets it. */
export function ValueRow({ values, problemOf, edit, field, label, hint, end, locked, children }: Props) {
  const t = useT()
  const reset = ({ currentTarget }: MouseEvent) => {
    // The button goes away with the value.
    currentTarget.closest('[data-row]')?.querySelector<HTMLElement>('[data-field]')?.focus()
    edit(field, '')
  }
  const action = values[field] !== '' && !locked && (
    <IconButton size="smallIcon" label={t('resetValue', { name: t(label) })} onClick={reset}>
      <RotateCcw size={13} aria-hidden />
    </IconButton>
  )
  return (
    <div data-row>
      <Field label={t(label)} hint={t(hint)} error={problemOf(field)} action={action} end={end}>
        {children}
      </Field>
    </div>
  )
}
