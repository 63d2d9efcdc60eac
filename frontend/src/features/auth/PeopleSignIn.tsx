import { type FormEvent, useCallback, useId, useRef, useState } from 'react'
import { register } from '@/api/people'
import type { AuthMode } from '@/api/types'
import { hasUnsavedText } from '@/app/unsaved'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { RequiredDialog } from '@/components/ui/RequiredDialog'
import { type Key, useT } from '@/lib/i18n'
import { personOfPage } from '@/lib/storage'
import { enter, invitationIn, type Session } from './enter'
import { FormField } from './FormField'
import { type FieldName, type Refusal, refusalOf } from './refusal'
import { Wait } from './Wait'

interface Props {
  mode: AuthMode
  session: Session
}

/** `first`: the first account of the server, which administers it. */
type View = 'signIn' | 'register' | 'first'

const WORDS: Record<View, { title: Key; hint: Key | null; send: Key; sending: Key }> = {
  signIn: { title: 'signInTitle', hint: null, send: 'signIn', sending: 'signInBusy' },
  register: { title: 'registerTitle', hint: null, send: 'registerSend', sending: 'registerBusy' },
  first: {
    title: 'firstAccountTitle',
    hint: 'firstAccountHint',
    send: 'registerSend',
    sending: 'registerBusy',
  },
}
const EMPTY: Partial<Record<FieldName, Key>> = {
  username: 'usernameEmpty',
  password: 'passwordEmpty',
  invitation: 'invitationEmpty',
  setup_code: 'setupCodeEmpty',
}

/** What was typed, without the fields that may be empty and are. */
function typedIn(form: HTMLFormElement): Partial<Record<FieldName, string>> {
  const typed = [...new FormData(form)].map(([name, text]) => {
    const words = String(text)
    // Spaces belong to a password.
    return [name, name === 'password' ? words : words.trim()] as const
  })
  return Object.fromEntries(typed.filter(([, text]) => text !== ''))
}

/** Signs in to an account, or makes one. The page stays mounted beneath, so that a draft survives signing in again. */
export function PeopleSignIn({ mode, session }: Props) {
  const t = useT()
  const errorId = useId()
  const form = useRef<HTMLFormElement>(null)
  const invitation = invitationIn(location.hash)
  const [view, setView] = useState<View>(
    !mode.has_accounts ? 'first' : invitation && mode.registration !== 'closed' ? 'register' : 'signIn',
  )
  const [busy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const [waited, setWaited] = useState(false)
  const onOver = useCallback(() => {
    setRefusal(null)
    setWaited(true)
  }, [])
  const waiting = refusal?.until != null
  const words = WORDS[view]

  const refuse = (found: Refusal) => {
    setRefusal(found)
    if (found.field) form.current?.querySelector<HTMLElement>(`[name=${found.field}]`)?.focus()
  }
  const send = async () => {
    const element = form.current
    if (!element || busy || waiting) return
    const { username = '', password = '', ...rest } = typedIn(element)
    const typed = { username, password, ...rest }
    const empty = [...element.querySelectorAll<HTMLInputElement>('input[required]')].find(
      ({ name }) => !typed[name as FieldName],
    )
    if (empty) {
      const field = empty.name as FieldName
      return refuse({ text: t(EMPTY[field] ?? 'usernameEmpty'), field, until: null })
    }
    setBusy(true)
    setRefusal(null)
    setWaited(false)
    try {
      if (view !== 'signIn') await register(typed)
    } catch (error) {
      setBusy(false)
      return refuse(refusalOf(error, Date.now()))
    }
    try {
      await enter({ username, password }, session)
    } catch (error) {
      // The account exists now: what remains is to sign in.
      setView('signIn')
      refuse(refusalOf(error, Date.now()))
    }
    setBusy(false)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void send()
  }
  const turnTo = (next: View) => {
    setRefusal(null)
    setWaited(false)
    setView(next)
    requestAnimationFrame(() => form.current?.querySelector('input')?.focus())
  }
  const errorOf = (field: FieldName) => (refusal?.field === field ? errorId : null)
  const fresh = view !== 'signIn'
  return (
    <RequiredDialog
      centered
      title={
        <>
          <span
            aria-hidden
            className="mx-auto mb-3 grid size-12 place-items-center rounded-[14px] bg-accent font-semibold text-accent-fg text-xl"
          >
            m
          </span>
          {view === 'signIn' && <span className="sr-only">{t('signInTitle')}</span>}
          <span aria-hidden={view === 'signIn'} className="text-lg">
            {view === 'signIn' ? t('appName') : t(words.title)}
          </span>
        </>
      }
      description={words.hint ? t(words.hint) : null}
    >
      <form ref={form} onSubmit={submit} noValidate className="space-y-4">
        {personOfPage !== null && hasUnsavedText() && (
          <p className="rounded-md border border-warn-line bg-warn-soft px-2.5 py-1.5 text-small text-warn">
            {t('signInUnsaved')}
          </p>
        )}
        {fresh && mode.has_accounts && mode.registration === 'invite' && (
          <FormField
            size="page"
            name="invitation"
            label={t('invitationCode')}
            defaultValue={invitation}
            autoComplete="off"
            required
            errorId={errorOf('invitation')}
          />
        )}
        <FormField
          size="page"
          key="username"
          name="username"
          label={t('username')}
          autoComplete="username"
          required
          errorId={errorOf('username')}
        />
        {fresh && (
          <FormField
            size="page"
            name="email"
            type="email"
            label={t('emailOptional')}
            autoComplete="email"
            errorId={errorOf('email')}
          />
        )}
        <FormField
          size="page"
          key={fresh ? 'new' : 'current'}
          name="password"
          type="password"
          label={t('passwordWord')}
          autoComplete={fresh ? 'new-password' : 'current-password'}
          required
          errorId={errorOf('password')}
        />
        {view === 'first' && (
          <FormField
            size="page"
            name="setup_code"
            label={t('setupCode')}
            hint={t('setupCodeHint')}
            autoComplete="off"
            required
            errorId={errorOf('setup_code')}
          />
        )}
        {refusal && (
          <div className="space-y-1">
            <ErrorText id={errorId}>{refusal.text}</ErrorText>
            {refusal.until !== null && <Wait until={refusal.until} onOver={onOver} />}
          </div>
        )}
        <p role="status" className="text-fg-2 text-small empty:hidden">
          {waited && t('signInWaitOver')}
        </p>
        <Button
          type="submit"
          look="solid"
          disabled={busy || waiting}
          className="h-10! w-full pointer-coarse:h-11!"
        >
          {t(busy ? words.sending : words.send)}
        </Button>
      </form>
      {mode.has_accounts && (fresh || mode.registration !== 'closed') && (
        <p className="text-center">
          <Button
            look="ghost"
            className="whitespace-normal!"
            onClick={() => turnTo(fresh ? 'signIn' : 'register')}
          >
            {t(fresh ? 'haveAccount' : mode.registration === 'open' ? 'createAccount' : 'haveInvitation')}
          </Button>
        </p>
      )}
    </RequiredDialog>
  )
}
