import { type FormEvent, useId, useState } from 'react'
import { peopleKeys } from '@/api/multi'
import { changeProfile } from '@/api/people'
import { queryClient } from '@/api/queries'
import type { Person } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { useT } from '@/lib/i18n'
import { FormField } from './FormField'
import { type Refusal, refusalOf } from './refusal'
import { useDate } from './useDate'

/** What others on the server see of the person, to change. */
export function ProfileForm({ person }: { person: Person }) {
  const t = useT()
  const date = useDate()
  const errorId = useId()
  const [username, setUsername] = useState(person.username)
  const [email, setEmail] = useState(person.email ?? '')
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const [saved, setSaved] = useState(false)
  const [busy, setBusy] = useState(false)
  const change = {
    ...(username.trim() !== person.username && { username: username.trim() }),
    ...(email.trim() !== (person.email ?? '') && { email: email.trim() || null }),
  }
  const unsaved = Object.keys(change).length > 0
  const save = async () => {
    if (!unsaved || busy) return
    setBusy(true)
    setRefusal(null)
    try {
      const changed = await changeProfile(change)
      queryClient.setQueryData(peopleKeys.profile, changed)
      setUsername(changed.username)
      setEmail(changed.email ?? '')
      setSaved(true)
    } catch (error) {
      setRefusal(refusalOf(error, Date.now()))
    }
    setBusy(false)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void save()
  }
  return (
    <form onSubmit={submit} noValidate className="space-y-3">
      <FormField
        label={t('username')}
        autoComplete="username"
        value={username}
        onChange={event => setUsername(event.target.value)}
        errorId={refusal?.field === 'username' ? errorId : null}
      />
      <FormField
        label={t('emailOptional')}
        type="email"
        autoComplete="email"
        value={email}
        onChange={event => setEmail(event.target.value)}
        errorId={refusal?.field === 'email' ? errorId : null}
      />
      <p className="text-fg-3 text-small">
        {t('accountFacts', {
          role: t(person.role === 'admin' ? 'roleAdmin' : 'roleUser'),
          created: date(person.created_at),
        })}
      </p>
      {refusal && <ErrorText id={errorId}>{refusal.text}</ErrorText>}
      <div className="flex items-center justify-end gap-2">
        <p role="status" className="text-fg-2 text-small">
          {saved && !unsaved && t('profileSaved')}
        </p>
        <Button type="submit" look="solid" disabled={!unsaved || busy || username.trim() === ''}>
          {t('save')}
        </Button>
      </div>
    </form>
  )
}
