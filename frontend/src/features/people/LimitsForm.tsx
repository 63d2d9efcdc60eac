import { type FormEvent, useId, useState } from 'react'
import { peopleKeys } from '@/api/multi'
import { changePerson } from '@/api/people'
import { refresh } from '@/api/queries'
import type { Person } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { Input } from '@/components/ui/Input'
import { accountReason } from '@/features/auth/refusal'
import { type Key, useT } from '@/lib/i18n'
import { limitsOf, type TypedLimits, typedOf } from './limits'

const FIELDS: readonly (readonly [keyof TypedLimits, Key])[] = [
  ['dayTokens', 'limitsDayTokens'],
  ['monthTokens', 'limitsMonthTokens'],
  ['dayCost', 'limitsDayCost'],
  ['monthCost', 'limitsMonthCost'],
  ['currency', 'limitsCurrency'],
]

/** Sets the most that a person may use, in place of the limits of the server. */
export function LimitsForm({ person, onClose }: { person: Person; onClose: () => void }) {
  const t = useT()
  const id = useId()
  const [typed, setTyped] = useState(() => typedOf(person.limits))
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const save = async (limits: ReturnType<typeof limitsOf>) => {
    setBusy(true)
    try {
      await changePerson(person.id, { limits })
      refresh(peopleKeys.people)
      onClose()
    } catch (error) {
      setProblem(accountReason(error))
      setBusy(false)
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const limits = limitsOf(typed)
    if (limits) void save(limits)
    else setProblem(t('limitsBad'))
  }
  return (
    <form
      onSubmit={submit}
      noValidate
      aria-label={t('personLimitsTitle', { name: person.username })}
      className="space-y-2 border-t pt-1.5"
    >
      <p className="text-fg-2 text-small">{t('personLimitsHint')}</p>
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
        {person.limits && (
          <Button size="small" disabled={busy} onClick={() => void save(null)}>
            {t('personLimitsServer')}
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
