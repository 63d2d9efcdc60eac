import { CircleCheck, KeyRound } from 'lucide-react'
import { type FormEvent, useId, useState } from 'react'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { useT } from '@/lib/i18n'
import { Field } from './Field'
import { useConnecting } from './useConnecting'

const PRESETS = [
  { name: 'DeepSeek', address: 'https://api.deepseek.com' },
  { name: 'OpenAI', address: 'https://api.openai.com/v1' },
  { name: 'Ollama', address: 'http://127.0.0.1:11434/v1' },
] as const

/**
 * Address, key and model: checked with the provider first, then stored by the server. The key is never shown again.
 */
export function ConnectProvider({ onDone }: { onDone: () => void }) {
  const t = useT()
  const id = useId()
  const [address, setAddress] = useState('')
  const [key, setKey] = useState('')
  const [model, setModel] = useState('')
  const { check, save, models, busy, problem, reset } = useConnecting(() => {
    setKey('')
    onDone()
  })
  const edit = (set: (text: string) => void) => (text: string) => {
    set(text)
    reset()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (busy) return
    if (models) return save({ address, key, model })
    const choose = (found: string[]) =>
      setModel(known => (found.includes(known) ? known : (found[0] ?? known)))
    check({ address, key }, { onSuccess: choose })
  }
  return (
    <form onSubmit={submit} className="mb-4 space-y-3 rounded-lg border bg-card p-3 text-[13px]">
      <div className="flex flex-wrap items-center gap-1.5">
        <span className="me-1 flex items-center gap-1.5 font-medium">
          <KeyRound size={14} aria-hidden />
          {t('providerTitle')}
        </span>
        {PRESETS.map(preset => (
          <Button key={preset.name} size="small" round onClick={() => edit(setAddress)(preset.address)}>
            {preset.name}
          </Button>
        ))}
      </div>
      <Field label={t('providerAddress')} value={address} onChange={edit(setAddress)} type="url" />
      <Field label={t('providerKey')} value={key} onChange={edit(setKey)} type="password" />
      {models && (
        <div className="space-y-3">
          <p className="flex items-center gap-1.5 text-ok text-small" role="status">
            <CircleCheck size={14} aria-hidden />
            {t('providerWorks', { n: models.length })}
          </p>
          <Field label={t('providerModel')} value={model} onChange={setModel} type="text" list={id} />
          <datalist id={id}>
            {models.map(name => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </div>
      )}
      {problem && <ErrorText>{problem}</ErrorText>}
      <div className="flex items-center justify-between gap-3">
        <p className="text-fg-3 text-meta">{t('providerKept')}</p>
        <Button
          type="submit"
          look="solid"
          disabled={busy || address.trim() === '' || (models !== null && model.trim() === '')}
        >
          {t(busy ? 'providerBusy' : models ? 'providerUse' : 'providerCheck')}
        </Button>
      </div>
    </form>
  )
}
