import { Plus } from 'lucide-react'
import { useRef, useState } from 'react'
import { useProviders } from '@/api/queries'
import { Button } from '@/components/ui/Button'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { ConnectProvider } from '@/features/model/ConnectProvider'
import { useT } from '@/lib/i18n'
import { FindButton } from './FindButton'
import { ProviderCard } from './ProviderCard'

/** The providers with their models, and a form for another one. */
export function ProvidersSection() {
  const t = useT()
  const { data, error } = useProviders()
  const add = useRef<HTMLButtonElement>(null)
  const [adding, setAdding] = useState(false)
  if (!data) return error ? <QueryError error={error} /> : <Skeleton label={t('loading')} rows={3} />
  return (
    <div className="space-y-2.5">
      <ul className="space-y-2">
        {data.providers.map(provider => (
          <li key={provider.id}>
            <ProviderCard provider={provider} />
          </li>
        ))}
      </ul>
      <div className="flex flex-wrap gap-2">
        <Button ref={add} size="small" aria-expanded={adding} onClick={() => setAdding(!adding)}>
          <Plus size={14} aria-hidden />
          {t('providerAdd')}
        </Button>
        <FindButton />
      </div>
      {adding && (
        <ConnectProvider
          className="rounded-lg border bg-card p-3"
          onDone={() => {
            setAdding(false)
            add.current?.focus()
          }}
        />
      )}
      {data.fallback_model && <p className="text-fg-3 text-meta">{t('modelFallbackHint')}</p>}
    </div>
  )
}
