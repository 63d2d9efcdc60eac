import { type FormEvent, useId, useState } from 'react'
import type { PersonLimits } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { Input } from '@/components/ui/Input'
import { type Key, useT } from '@/lib/i18n'
import { limitsOf, type TypedLimits, typedOf } from './limits'

const FIELDS: readonly (readonly [keyof TypedLimits, Key])[] = [
  ['dayTokens', 'limitsDayTokens'],
  ['monthTokens', 'limitsMonthTokens'],
  ['dayCost', 'limitsDayCost'],
  ['monthCost', 'limitsMonthCost'],
  ['currency', 'limitsCurrency'],
]

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
    const limits = limitsOf(typed)
    if (limits) void save(limits)
    else setProblem(t('limitsBad'))
  }
  return (
    <form onSubmit={submit} noValidate aria-label={title} className="space-y-2 border-t pt-1.5">
      <p className="text-fg-2 text-small">{hint}</p>
      <div className="grid gap-2 sm:grid-cols-2">
        {FIELDS.map(([name, label], at) => (
          <div key={name}>
            <label htmlFor={`${id}-${name}`} className="mb-1 block text-small">
              {t(label)}
            </label>
            <Input
              id={`${id}-${name}`}
              size="medium"
              autoFocus={at === 0}
              autoComplete="off"
              inputMode={name === 'currency' ? 'text' : 'decimal'}
              value={typed[name]}
              onChange={event => {
                setProblem(null)
                setTyped({ ...typed, [name]: event.target.value })
              }}
            />
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
