import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { changeOwnProvider } from '@/api/ownProviders'
import type { OwnProvider } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { Field } from '@/features/model/Field'
import { useT } from '@/lib/i18n'
import { bringIntoView, keepOwn, ownReason } from './ownChanges'

interface Props {
  provider: OwnProvider
  onDone: () => void
}

/** Changes name, key and models of a person's own provider; a new key is tested before it is kept. */
export function EditOwnProvider({ provider, onDone }: Props) {
  const t = useT()
  const [name, setName] = useState(provider.name)
  const [key, setKey] = useState('')
  const before = provider.models.map(model => model.name)
  const [models, setModels] = useState(before)
  const listed = [...new Set([...before, ...provider.named])]
  const save = useMutation({
    mutationFn: () =>
      changeOwnProvider(provider.id, {
        ...(name.trim() !== provider.name && { name: name.trim() }),
        ...(key.trim() && { api_key: key.trim() }),
        ...(models.join('\n') !== before.join('\n') && { models }),
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
    if (!save.isPending) save.mutate()
  }
  const choose = (model: string, on: boolean) =>
    setModels(on ? [...models, model] : models.filter(known => known !== model))
  return (
    <form onSubmit={submit} className="mt-2 space-y-2.5 border-t pt-2 text-[13px]">
      <Field label={t('providerName')} value={name} onChange={setName} type="text" />
      <Field label={t('providerNewKey')} value={key} onChange={setKey} type="password" />
      {listed.length > 0 && (
        <fieldset>
          <legend className="mb-1 text-fg-2">{t('providerModels', { name: provider.name })}</legend>
          <ul className="scroll max-h-[30dvh] divide-y">
            {listed.map(model => (
              <li key={model}>
                <label className="flex items-center gap-2 py-1 pointer-coarse:py-2.5">
                  <input
                    type="checkbox"
                    checked={models.includes(model)}
                    onChange={event => choose(model, event.target.checked)}
                  />
                  <span className="font-mono text-[12px] [overflow-wrap:anywhere]">{model}</span>
                </label>
              </li>
            ))}
          </ul>
        </fieldset>
      )}
      {save.error && <ErrorText ref={bringIntoView}>{ownReason(save.error)}</ErrorText>}
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>{t('cancel')}</Button>
        <Button type="submit" look="solid" disabled={save.isPending || name.trim() === ''}>
          {t(save.isPending ? 'providerBusy' : 'providerSave')}
        </Button>
      </div>
    </form>
  )
}
