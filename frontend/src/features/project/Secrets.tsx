import { KeyRound, Pencil, Trash2 } from 'lucide-react'
import { type FormEvent, useRef, useState } from 'react'
import * as api from '@/api/git'
import { type ProjectSecret, secretsKey, useSecrets } from '@/api/git'
import { refresh } from '@/api/queries'
import { Button, IconButton } from '@/components/ui/Button'
import { Dialog, DialogActions } from '@/components/ui/Dialog'
import { ErrorText } from '@/components/ui/ErrorText'
import { Field } from '@/components/ui/Field'
import { Input, TextArea } from '@/components/ui/Input'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { moment } from '@/lib/format'
import { useLang, useT } from '@/lib/i18n'
import '@/lib/later'
import { reasonOf } from '@/lib/reason'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  projectId: string
}

/** The secrets of a project: their names; a value is never shown again. */
export default function Secrets({ open, onOpenChange, projectId }: Props) {
  const t = useT()
  const secrets = useSecrets(projectId)
  const [name, setName] = useState('')
  const [value, setValue] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const nameField = useRef<HTMLInputElement>(null)
  const valueField = useRef<HTMLTextAreaElement>(null)
  const replaces = secrets.data?.some(secret => secret.name === name.trim()) ?? false
  const run = async (action: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true)
    try {
      await action()
      setProblem(null)
      return true
    } catch (error) {
      setProblem(reasonOf(error))
      return false
    } finally {
      setBusy(false)
      refresh(secretsKey(projectId))
    }
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (name.trim() === '' || value === '' || busy) return
    if (await run(() => api.setSecret(projectId, name.trim(), value.trim()))) {
      setName('')
      setValue('')
      nameField.current?.focus()
    }
  }
  const replace = (secret: ProjectSecret) => {
    setName(secret.name)
    setValue('')
    valueField.current?.focus()
  }
  return (
    <Dialog
      size="wide"
      open={open}
      onOpenChange={onOpenChange}
      title={t('secrets')}
      description={t('secretsHint')}
    >
      {secrets.error ? (
        <QueryError error={secrets.error} />
      ) : !secrets.data ? (
        <Skeleton label={t('loading')} rows={2} />
      ) : secrets.data.length === 0 ? (
        <p className="pb-3 text-[13px] text-fg-3">{t('secretsNone')}</p>
      ) : (
        <ul className="mb-3 divide-y rounded-lg border">
          {secrets.data.map(secret => (
            <SecretRow
              key={secret.name}
              secret={secret}
              busy={busy}
              onReplace={() => replace(secret)}
              onRemove={() => void run(() => api.removeSecret(projectId, secret.name))}
            />
          ))}
        </ul>
      )}
      <form onSubmit={event => void submit(event)} className="space-y-3">
        <Field label={t('secretName')} hint={t('secretNameHint')} error={null}>
          {described => (
            <Input
              {...described}
              ref={nameField}
              value={name}
              maxLength={64}
              spellCheck={false}
              autoCapitalize="none"
              autoComplete="off"
              className="font-mono"
              onChange={event => setName(event.target.value)}
            />
          )}
        </Field>
        <Field label={t('secretValue')} hint={t('secretValueHint')} error={null}>
          {described => (
            // Not a field for passwords: those lose the line breaks of a key.
            <TextArea
              {...described}
              ref={valueField}
              rows={2}
              value={value}
              autoComplete="off"
              spellCheck={false}
              className="[-webkit-text-security:disc]"
              onChange={event => setValue(event.target.value)}
            />
          )}
        </Field>
        <DialogActions>
          {problem && <ErrorText className="flex-1">{problem}</ErrorText>}
          <Button onClick={() => onOpenChange(false)}>{t('close')}</Button>
          <Button type="submit" look="solid" disabled={busy || name.trim() === '' || value === ''}>
            {t(replaces ? 'secretReplace' : 'secretAdd')}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}

interface RowProps {
  secret: ProjectSecret
  busy: boolean
  onReplace: () => void
  onRemove: () => void
}

function SecretRow({ secret: { name, updated_at }, busy, onReplace, onRemove }: RowProps) {
  const t = useT()
  const lang = useLang()
  return (
    <li className="flex items-center gap-2 px-3 py-1.5 text-[13px]">
      <KeyRound size={14} aria-hidden className="shrink-0 text-fg-3" />
      <span className="min-w-0 flex-1">
        <code className="block truncate" title={name}>
          {name}
        </code>
        <span className="block text-fg-3 text-small">
          {t('secretSet', { at: moment(Date.parse(updated_at) / 1000, lang) })}
        </span>
      </span>
      <IconButton
        size="smallIcon"
        label={t('secretReplaceThis', { name })}
        disabled={busy}
        onClick={onReplace}
      >
        <Pencil size={13} aria-hidden />
      </IconButton>
      <IconButton size="smallIcon" label={t('secretRemove', { name })} disabled={busy} onClick={onRemove}>
        <Trash2 size={13} aria-hidden />
      </IconButton>
    </li>
  )
}
