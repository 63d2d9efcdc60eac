import { Plus, Trash2 } from 'lucide-react'
import { type FormEvent, useId, useRef, useState } from 'react'
import { peopleKeys } from '@/api/multi'
import { addToken, removeToken } from '@/api/people'
import { useTokens } from '@/api/peopleQueries'
import { refresh } from '@/api/queries'
import type { AccessToken, NewAccessToken } from '@/api/types'
import { Button, IconButton } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { Input } from '@/components/ui/Input'
import { QueryError } from '@/components/ui/QueryError'
import { Select } from '@/components/ui/Select'
import { Skeleton } from '@/components/ui/Skeleton'
import { Visible } from '@/components/Visible'
import { useT } from '@/lib/i18n'
import { OneTime } from './OneTime'
import { accountReason } from './refusal'
import { useDate } from './useDate'

const LIVES = [30, 90, 365] as const
const SCOPES = { full: 'tokenFull', read: 'tokenRead', ask: 'tokenAsk', tools: 'tokenTools' } as const
type Scope = keyof typeof SCOPES

/** The person's access tokens for programs: a new one is shown once, and each can be deleted. */
export function AccessTokens() {
  const t = useT()
  const id = useId()
  const { data: tokens, error } = useTokens()
  const [name, setName] = useState('')
  const [days, setDays] = useState('90')
  const [scope, setScope] = useState<Scope>('full')
  const [made, setMade] = useState<NewAccessToken | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const hint = useRef<HTMLParagraphElement>(null)
  const add = async () => {
    setProblem(null)
    try {
      setMade(
        await addToken({ name: name.trim(), scope, expires_in_days: days === '' ? null : Number(days) }),
      )
      setName('')
    } catch (cause) {
      setProblem(accountReason(cause))
    }
    refresh(peopleKeys.tokens)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim() !== '') void add()
  }
  const remove = async (token: AccessToken) => {
    setProblem(null)
    // The button that was pressed is about to vanish.
    hint.current?.focus()
    try {
      await removeToken(token.id)
      if (made?.id === token.id) setMade(null)
    } catch (cause) {
      setProblem(accountReason(cause))
    }
    refresh(peopleKeys.tokens)
  }
  return (
    <div className="space-y-3">
      <p ref={hint} tabIndex={-1} className="text-[13px] text-fg-2 outline-none">
        {t('tokensHint')}
      </p>
      <form onSubmit={submit} className="flex flex-wrap items-end gap-2 text-[13px]">
        <div className="min-w-40 flex-1">
          <label htmlFor={id} className="mb-1 block font-medium">
            {t('tokenName')}
          </label>
          <Input
            id={id}
            size="medium"
            autoComplete="off"
            maxLength={80}
            placeholder={t('tokenNameExample')}
            value={name}
            onChange={event => setName(event.target.value)}
          />
        </div>
        <div>
          <label id={`${id}-days`} htmlFor={`${id}-life`} className="mb-1 block font-medium">
            {t('tokenLife')}
          </label>
          <Select
            id={`${id}-life`}
            aria-labelledby={`${id}-days`}
            className="md:pointer-fine:h-8!"
            value={days}
            options={[
              ...LIVES.map(n => ({ value: `${n}`, words: t('tokenDays', { n }) })),
              { value: '', words: t('tokenForever') },
            ]}
            onChange={setDays}
          />
        </div>
        <div>
          <label id={`${id}-scopes`} htmlFor={`${id}-scope`} className="mb-1 block font-medium">
            {t('tokenScope')}
          </label>
          <Select
            id={`${id}-scope`}
            aria-labelledby={`${id}-scopes`}
            className="md:pointer-fine:h-8!"
            value={scope}
            options={Object.entries(SCOPES).map(([value, words]) => ({ value, words: t(words) }))}
            onChange={value => setScope(value as Scope)}
          />
        </div>
        <Button type="submit" disabled={name.trim() === ''}>
          <Plus size={14} aria-hidden />
          {t('tokenAdd')}
        </Button>
      </form>
      {problem && <ErrorText>{problem}</ErrorText>}
      {made && (
        <OneTime
          key={made.id}
          title={t('tokenMade', { name: made.name })}
          hint={t('shownOnce')}
          secrets={[{ label: t('token'), text: made.token }]}
        />
      )}
      {!tokens ? (
        error ? (
          <QueryError error={error} />
        ) : (
          <Skeleton label={t('loading')} rows={2} />
        )
      ) : tokens.length === 0 ? (
        <p className="text-fg-3 text-small">{t('tokensNone')}</p>
      ) : (
        <ul className="space-y-1.5" aria-label={t('accessTokens')}>
          {tokens.map(token => (
            <TokenRow key={token.id} token={token} onRemove={() => void remove(token)} />
          ))}
        </ul>
      )}
    </div>
  )
}

function TokenRow({ token, onRemove }: { token: AccessToken; onRemove: () => void }) {
  const t = useT()
  const date = useDate()
  const [asking, setAsking] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const { name, scope, created_at: created, expires_at: expires } = token
  return (
    <li className="rounded-md border px-2.5 py-1.5 text-[13px]">
      <div className="flex items-center gap-2">
        <div className="min-w-0 flex-1">
          <p className="[overflow-wrap:anywhere]">
            <Visible text={name} />
          </p>
          <p className="text-fg-3 text-meta">
            {[
              SCOPES[scope] && t(SCOPES[scope]),
              created && t('createdAt', { at: date(created) }),
              expires ? t('expiresAt', { at: date(expires) }) : t('expiresNever'),
            ]
              .filter(Boolean)
              .join(' · ')}
          </p>
        </div>
        <IconButton
          ref={button}
          size="smallIcon"
          label={t('tokenDelete', { name })}
          aria-expanded={asking}
          onClick={() => setAsking(!asking)}
        >
          <Trash2 size={14} aria-hidden />
        </IconButton>
      </div>
      {asking && (
        <div className="mt-1.5 flex flex-wrap items-center gap-2 border-t pt-1.5">
          <p role="alert" className="min-w-0 flex-1 basis-60 text-small">
            {t('tokenDeleteAsk')}
          </p>
          <span className="ms-auto flex gap-2">
            <Button
              size="small"
              autoFocus
              onClick={() => {
                button.current?.focus()
                setAsking(false)
              }}
            >
              {t('cancel')}
            </Button>
            <Button size="small" look="danger" onClick={onRemove}>
              {t('delete')}
            </Button>
          </span>
        </div>
      )}
    </li>
  )
}
