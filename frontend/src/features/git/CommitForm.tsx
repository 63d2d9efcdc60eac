import { type FormEvent, useRef, useState } from 'react'
import type { GitStatus } from '@/api/git'
import * as api from '@/api/git'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { Input, TextArea } from '@/components/ui/Input'
import { useT } from '@/lib/i18n'
import { act } from './actions'

interface Props {
  id: string
  status: GitStatus
  staged: number
}

/** Commits what is staged. Whose commit it is, is asked once. */
export function CommitForm({ id, status, staged }: Props) {
  const t = useT()
  const [message, setMessage] = useState('')
  const [changing, setChanging] = useState(false)
  const [author, setAuthor] = useState({ name: status.author?.name ?? '', email: status.author?.email ?? '' })
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const field = useRef<HTMLTextAreaElement>(null)
  const asks = changing || status.author == null
  const complete =
    message.trim() !== '' &&
    staged > 0 &&
    (!asks || (author.name.trim() !== '' && author.email.trim() !== ''))
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!complete || busy) return
    setBusy(true)
    const failed = await act(id, () => api.commit(id, { message, ...(asks && { author }) }))
    setBusy(false)
    setProblem(failed)
    if (failed === null) {
      setMessage('')
      setChanging(false)
    }
    field.current?.focus()
  }
  return (
    <form onSubmit={event => void submit(event)} className="shrink-0 space-y-1.5 border-t pt-2">
      <TextArea
        ref={field}
        rows={2}
        aria-label={t('gitMessage')}
        placeholder={t('gitMessage')}
        value={message}
        onChange={event => setMessage(event.target.value)}
        onKeyDown={event => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
            event.currentTarget.form?.requestSubmit()
        }}
      />
      {asks ? (
        <div className="flex flex-wrap gap-1.5">
          <Input
            size="small"
            aria-label={t('gitAuthorName')}
            placeholder={t('gitAuthorName')}
            autoComplete="name"
            value={author.name}
            onChange={event => setAuthor({ ...author, name: event.target.value })}
          />
          <Input
            size="small"
            aria-label={t('gitAuthorEmail')}
            placeholder={t('gitAuthorEmail')}
            autoComplete="email"
            value={author.email}
            onChange={event => setAuthor({ ...author, email: event.target.value })}
          />
          <p className="text-fg-3 text-small">{t('gitAuthorHint')}</p>
        </div>
      ) : (
        <p className="flex items-center gap-1 text-fg-3 text-small">
          <span className="min-w-0 truncate">
            {status.author?.name} &lt;{status.author?.email}&gt;
          </span>
          <Button size="small" look="ghost" onClick={() => setChanging(true)}>
            {t('gitAuthorChange')}
          </Button>
        </p>
      )}
      {problem && <ErrorText>{problem}</ErrorText>}
      <Button type="submit" look="solid" className="w-full" disabled={!complete || busy}>
        {staged > 0 ? t('gitCommitFiles', { n: staged }) : t('gitCommit')}
      </Button>
    </form>
  )
}
