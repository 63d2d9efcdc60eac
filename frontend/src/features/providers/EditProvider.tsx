import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { Provider } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { ApiChoice } from '@/features/model/ApiChoice'
import { apiForm } from '@/features/model/apiForm'
import { Field } from '@/features/model/Field'
import { useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { saveProvider } from './changes'

interface Props {
  provider: Provider
  onDone: () => void
}

/** Changes the name, the address, the API and the key of a provider; the server tests them before it stores them. */
export function EditProvider({ provider, onDone }: Props) {
  const t = useT()
  const [name, setName] = useState(provider.name)
  const [address, setAddress] = useState(provider.base_url)
  const [form, setForm] = useState(apiForm(provider.api))
  const [key, setKey] = useState('')
  const save = useMutation({
    mutationFn: () =>
      saveProvider(provider.id, {
        ...(name.trim() !== provider.name && { name }),
        ...(address.trim() !== provider.base_url && { base_url: address.trim() }),
        ...(form !== apiForm(provider.api) && { api: form }),
        ...(key.trim() !== '' && { api_key: key }),
      }),
    onSuccess: onDone,
    // Its variables have the key.
    gcTime: 0,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!save.isPending) save.mutate()
  }
  return (
    <form onSubmit={submit} className="mt-2 space-y-2.5 border-t pt-2 text-[13px]">
      <Field label={t('providerName')} value={name} onChange={setName} type="text" />
      <Field label={t('providerAddress')} value={address} onChange={setAddress} type="url" />
      <ApiChoice value={form} onChange={setForm} />
      <Field label={t('providerNewKey')} value={key} onChange={setKey} type="password" />
      {save.error && <ErrorText>{reasonOf(save.error)}</ErrorText>}
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>{t('cancel')}</Button>
        <Button type="submit" look="solid" disabled={save.isPending || name.trim() === ''}>
          {t(save.isPending ? 'providerBusy' : 'providerSave')}
        </Button>
      </div>
    </form>
  )
}
