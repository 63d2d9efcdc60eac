import { type FormEvent, useCallback, useId, useRef, useState } from 'react'
import { hasCode } from '@/api/client'
import { peopleKeys } from '@/api/multi'
import { changePassword } from '@/api/people'
import { keys, refresh } from '@/api/queries'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { Input } from '@/components/ui/Input'
import { useT } from '@/lib/i18n'
import { FormField } from './FormField'
import { type Refusal, refusalOf } from './refusal'
import { Wait } from './Wait'

/** Changes the person's password. A password manager reads the name beside it. */
export function PasswordForm({ username }: { username: string }) {
  const t = useT()
  const errorId = useId()
  const form = useRef<HTMLFormElement>(null)
  const [problem, setProblem] = useState<(Refusal & { of: 'current' | 'new' | null }) | null>(null)
  const [state, setState] = useState<'idle' | 'busy' | 'done'>('idle')
  const onOver = useCallback(() => setProblem(null), [])
  const waiting = problem?.until != null
  const refuse = (found: Refusal, of: 'current' | 'new' | null) => {
    setState('idle')
    setProblem({ ...found, of })
    if (of) form.current?.querySelector<HTMLElement>(`[name=${of}]`)?.focus()
  }
  const send = async (element: HTMLFormElement) => {
    if (state === 'busy' || waiting) return
    const typed = new FormData(element)
    const [current, next] = [String(typed.get('current') ?? ''), String(typed.get('new') ?? '')]
    const empty = current === '' ? 'current' : next === '' ? 'new' : null
    if (empty) {
      const text = t(empty === 'current' ? 'passwordCurrentEmpty' : 'passwordNewEmpty')
      return refuse({ text, field: null, until: null }, empty)
    }
    setState('busy')
    setProblem(null)
    try {
      await changePassword(current, next)
      element.reset()
      setState('done')
      refresh(peopleKeys.tokens)
    } catch (error) {
      const wrong = hasCode(error, 'wrong_password')
      const found = refusalOf(error, Date.now())
      refuse(wrong ? { ...found, text: t('passwordCurrentWrong') } : found, of(found, wrong))
      // The session may have ended meanwhile, which another request tells.
      if (!wrong) refresh(keys.status)
    }
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    void send(event.currentTarget)
  }
  return (
    <form ref={form} onSubmit={submit} noValidate className="space-y-3">
      <Input
        className="sr-only"
        name="username"
        autoComplete="username"
        value={username}
        readOnly
        tabIndex={-1}
        aria-hidden
      />
      <FormField
        label={t('passwordCurrent')}
        type="password"
        name="current"
        autoComplete="current-password"
        errorId={problem?.of === 'current' ? errorId : null}
      />
      <FormField
        label={t('passwordNew')}
        hint={t('passwordHint')}
        type="password"
        name="new"
        autoComplete="new-password"
        errorId={problem?.of === 'new' ? errorId : null}
      />
      {problem && (
        <div className="space-y-1">
          <ErrorText id={errorId}>{problem.text}</ErrorText>
          {problem.until !== null && <Wait until={problem.until} onOver={onOver} />}
        </div>
      )}
      <div className="flex items-center justify-end gap-2">
        <p role="status" className="min-w-0 text-fg-2 text-small">
          {state === 'done' && t('passwordChanged')}
        </p>
        <Button type="submit" look="solid" disabled={state === 'busy' || waiting}>
          {t('changePassword')}
        </Button>
      </div>
    </form>
  )
}

const of = ({ field }: Refusal, wrong: boolean) => (wrong ? 'current' : field === 'password' ? 'new' : null)
