import { type FormEvent, useId, useRef, useState } from 'react'
import type { PersonLimits } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { Input } from '@/components/ui/Input'
import { type Key, useT } from '@/lib/i18n'
import { limitsOf, type TypedLimits, typedOf, wrongField } from './limits'

const FIELDS: readonly (readonly [keyof TypedLimits, Key])[] = [
  ['dayTokens', 'limitsDayTokens'],
  ['monthTokens', 'limitsMonthTokens'],
  ['dayCost', 'limitsDayCost'],
  ['monthCost', 'limitsMonthCost'],
  ['currency', 'limitsCurrency'],
]

/** What is wrong with a field that is refused. */
const REASONS: Record<keyof TypedLimits, Key> = {
  dayTokens: 'limitsBadTokens',
  monthTokens: 'limitsBadTokens',
  dayCost: 'limitsBad',
  monthCost: 'limitsBad',
  currency: 'limitsBadCurrency',
}

interface Props {
  title: string
  hint: string
  limits: PersonLimits | null | undefined
  /** What takes all limits away. */
  clear: string
  /** Sets limits, or takes them away. Returns why that failed. */
  onSave: (limits: PersonLimits | null) => Promise<string | null>
  onClose: () => void
}

/** Sets the most that somebody may use in a day and in a month. */
export function LimitsForm({ title, hint, limits, clear, onSave, onClose }: Props) {
  const t = useT()
  const id = useId()
  const [typed, setTyped] = useState(() => typedOf(limits))
  const [problem, setProblem] = useState<string | null>(null)
  /** The field that is to be corrected. */
  const [wrong, setWrong] = useState<keyof TypedLimits | null>(null)
  const fields = useRef<HTMLDivElement>(null)
  const [busy, setBusy] = useState(false)
  const save = async (limits: PersonLimits | null) => {
    setBusy(true)
    const failed = await onSave(limits)
    if (failed === null) return onClose()
    setProblem(failed)
    setBusy(false)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const field = wrongField(typed)
    setWrong(field)
    if (field === null) return void save(limitsOf(typed))
    fields.current?.querySelector<HTMLElement>(`[name=${field}]`)?.focus()
  }
  return (
    <form onSubmit={submit} noValidate aria-label={title} className="space-y-2 border-t pt-1.5">
      <p className="text-fg-2 text-small">{hint}</p>
      <div ref={fields} className="grid gap-2 sm:grid-cols-2">
        {FIELDS.map(([name, label], at) => (
          <div key={name}>
            <label htmlFor={`${id}-${name}`} className="mb-1 block text-small">
              {t(label)}
            </label>
            <Input
              id={`${id}-${name}`}
              name={name}
              aria-invalid={wrong === name}
              aria-describedby={wrong === name ? `${id}-problem` : undefined}
              size="medium"
              autoFocus={at === 0}
              autoComplete="off"
              inputMode={name === 'currency' ? 'text' : 'decimal'}
              value={typed[name]}
              onChange={event => {
                setProblem(null)
                setWrong(null)
                setTyped({ ...typed, [name]: event.target.value })
              }}
            />
            {wrong === name && (
              <ErrorText id={`${id}-problem`} className="mt-1">
                {t(REASONS[name])}
              </ErrorText>
            )}
          </div>
        ))}
      </div>
      {problem && <ErrorText>{problem}</ErrorText>}
      <div className="flex flex-wrap justify-end gap-2">
        {limits && (
          <Button size="small" disabled={busy} onClick={() => void save(null)}>
            {clear}
          </Button>
        )}
        <Button size="small" onClick={onClose}>
          {t('cancel')}
        </Button>
        <Button type="submit" size="small" look="solid" disabled={busy}>
          {t('save')}
        </Button>
      </div>
    </form>
  )
}
