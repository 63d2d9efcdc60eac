import { Plus } from 'lucide-react'
import { useId, useRef, useState } from 'react'
import { ApiError } from '@/api/client'
import { setOwnDefault, useOwnProviders } from '@/api/ownProviders'
import type { OwnProviders as All } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { QueryError } from '@/components/ui/QueryError'
import { Select } from '@/components/ui/Select'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { AddOwnProvider } from './AddOwnProvider'
import { OwnProviderCard } from './OwnProviderCard'
import { changeOwn } from './ownChanges'

/** The providers that a person has connected for themselves, with keys of their own. */
export function OwnProviders() {
  const t = useT()
  const { data, error } = useOwnProviders()
  const add = useRef<HTMLButtonElement>(null)
  const [adding, setAdding] = useState(false)
  if (!data) {
    if (error instanceof ApiError && error.code === 'own_providers_off')
      return <p className="text-fg-2 text-small">{t('ownProvidersOff')}</p>
    return error ? <QueryError error={error} /> : <Skeleton label={t('loading')} rows={2} />
  }
  const closeForm = () => {
    setAdding(false)
    add.current?.focus()
  }
  return (
    <section aria-label={t('ownProviders')} className="space-y-2.5">
      <p className="text-fg-2 text-small">{t('ownProvidersHint')}</p>
      <ul className="space-y-2">
        {data.providers.map(provider => (
          <li key={provider.id}>
            <OwnProviderCard provider={provider} onRemoved={() => add.current?.focus()} />
          </li>
        ))}
      </ul>
      {data.providers.length > 0 && <DefaultModel all={data} />}
      <Button ref={add} size="small" aria-expanded={adding} onClick={() => setAdding(!adding)}>
        <Plus size={14} aria-hidden />
        {t('ownProviderAdd')}
      </Button>
      {adding && <AddOwnProvider onDone={closeForm} />}
    </section>
  )
}

function DefaultModel({ all: { providers, default_model: chosen } }: { all: All }) {
  const t = useT()
  const id = useId()
  const models = providers.flatMap(({ name, models }) =>
    models.map(model => ({ value: model.id, words: `${model.name} · ${name}` })),
  )
  const isGone = chosen && !models.some(({ value }) => value === chosen)
  return (
    <p className="flex flex-wrap items-center gap-2 text-small">
      <span id={id} className="text-fg-2">
        {t('ownDefault')}
      </span>
      <Select
        aria-labelledby={id}
        value={chosen ?? ''}
        options={[
          { value: '', words: t('ownDefaultServer') },
          ...models,
          ...(isGone ? [{ value: chosen, words: t('ownDefaultGone', { model: chosen }) }] : []),
        ]}
        onChange={model => void changeOwn(setOwnDefault(model || null))}
      />
    </p>
  )
}
