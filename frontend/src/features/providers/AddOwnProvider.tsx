import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { addOwnProvider } from '@/api/ownProviders'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { ApiChoice } from '@/features/model/ApiChoice'
import type { ApiForm } from '@/features/model/apiForm'
import { Field } from '@/features/model/Field'
import { ProviderChoice } from '@/features/model/ProviderChoice'
import { PRESETS, type Preset } from '@/features/model/presets'
import { useT } from '@/lib/i18n'
import { bringIntoView, keepOwn, ownReason } from './ownChanges'

/** Connects a provider: the server asks it for its models before anything is kept. */
export function AddOwnProvider({ onDone }: { onDone: () => void }) {
  const t = useT()
  /** Null: a provider that is not in the list, by its address. */
  const [preset, setPreset] = useState<Preset | null>(PRESETS[0] ?? null)
  const [address, setAddress] = useState('')
  const [form, setForm] = useState<ApiForm | null>(null)
  const [key, setKey] = useState('')
  const url = preset?.address ?? address.trim()
  const add = useMutation({
    mutationFn: () =>
      addOwnProvider({
        base_url: url,
        ...(key.trim() && { api_key: key.trim() }),
        ...(!preset && form && { api: form }),
      }),
    onSuccess: providers => {
      keepOwn(providers)
      onDone()
    },
    // Its variables have the key.
    gcTime: 0,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!add.isPending) add.mutate()
  }
  return (
    <form onSubmit={submit} noValidate className="space-y-3 rounded-lg border bg-card p-3 text-[13px]">
      <ProviderChoice chosen={preset} onChoose={setPreset} />
      {!preset && (
        <>
          <Field label={t('providerAddress')} value={address} onChange={setAddress} type="url" />
          <ApiChoice value={form} onChange={setForm} />
        </>
      )}
      <Field
        label={t(preset ? 'providerKey' : 'providerKeyOptional')}
        value={key}
        onChange={setKey}
        type="password"
      />
      {add.error && <ErrorText ref={bringIntoView}>{ownReason(add.error)}</ErrorText>}
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="min-w-[20ch] flex-1 text-fg-3 text-meta">{t('ownProviderKept')}</p>
        <Button
          type="submit"
          look="solid"
          disabled={add.isPending || url === '' || (preset !== null && key.trim() === '')}
        >
          {t(add.isPending ? 'providerBusy' : 'ownProviderConnect')}
        </Button>
      </div>
    </form>
  )
}
