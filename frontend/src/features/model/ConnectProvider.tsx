import { CircleCheck } from 'lucide-react'
import { type FormEvent, useId, useState } from 'react'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { ApiChoice } from './ApiChoice'
import type { ApiForm } from './apiForm'
import { Field } from './Field'
import { ProviderChoice } from './ProviderChoice'
import { conversing, firstChoice, PRESETS, type Preset, presetOfKey } from './presets'
import { useConnecting } from './useConnecting'

interface Props {
  /** Class of the form, for the layout of its parent. */
  className?: string
  onDone: () => void
}

/**
 * Provider, key and model: checked with the provider first, then stored by the server. The key is never shown again.
 */
export function ConnectProvider({ className, onDone }: Props) {
  const t = useT()
  const id = useId()
  /** Null: a provider that is not in the list, by its address. */
  const [preset, setPreset] = useState<Preset | null>(PRESETS[0] ?? null)
  const [address, setAddress] = useState('')
  const [form, setForm] = useState<ApiForm | null>(null)
  const [key, setKey] = useState('')
  const [model, setModel] = useState('')
  const { check, save, models, busy, problem, reset } = useConnecting(() => {
    setKey('')
    onDone()
  })
  const url = preset?.address ?? address.trim()
  const asked = { address: url, key, form: preset ? null : form }
  const found = models && conversing(models)
  const choosePreset = (chosen: Preset | null) => {
    setPreset(chosen)
    reset()
  }
  const editKey = (text: string) => {
    setKey(text)
    const known = presetOfKey(text)
    if (known && preset) setPreset(known)
    reset()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (busy) return
    if (models) return save({ ...asked, model })
    check(asked, { onSuccess: listed => setModel(firstChoice(conversing(listed), url)) })
  }
  const ready = url !== '' && (preset === null || key.trim() !== '') && (!models || model.trim() !== '')
  return (
    <form onSubmit={submit} className={className}>
      <div className="space-y-3 text-[13px]">
        <ProviderChoice chosen={preset} onChoose={choosePreset} />
        {preset === null && (
          <>
            <Field
              label={t('providerAddress')}
              value={address}
              onChange={text => {
                setAddress(text)
                reset()
              }}
              type="url"
            />
            <ApiChoice
              value={form}
              onChange={chosen => {
                setForm(chosen)
                reset()
              }}
            />
          </>
        )}
        <Field
          label={t(preset ? 'providerKey' : 'providerKeyOptional')}
          value={key}
          onChange={editKey}
          type="password"
        />
        {found && (
          <div className="space-y-3">
            <p className="flex items-center gap-1.5 text-ok text-small" role="status">
              <CircleCheck size={14} aria-hidden />
              {t('providerWorks', { n: found.length })}
            </p>
            <Field label={t('providerModel')} value={model} onChange={setModel} type="text" list={id} />
            <datalist id={id}>
              {found.map(name => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </div>
        )}
        {problem && <ErrorText>{problem}</ErrorText>}
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="min-w-[20ch] flex-1 text-fg-3 text-meta">{t('providerKept')}</p>
          <Button type="submit" look="solid" disabled={busy || !ready}>
            {t(busy ? 'providerBusy' : models ? 'providerUse' : 'providerCheck')}
          </Button>
        </div>
      </div>
    </form>
  )
}
