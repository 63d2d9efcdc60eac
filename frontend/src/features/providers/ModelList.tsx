import { Search } from 'lucide-react'
import { useState } from 'react'
import type { Provider } from '@/api/types'
import { Input } from '@/components/ui/Input'
import { useT } from '@/lib/i18n'
import { matches } from '@/lib/match'
import { ModelRow } from './ModelRow'

/** From this number of models on, there is a field to search them. */
const SEARCHED = 8

/** The models of a provider: favorites first, then those that can be chosen. */
export function ModelList({ provider }: { provider: Provider }) {
  const t = useT()
  const [query, setQuery] = useState('')
  const { models, name, editable } = provider
  if (models.length === 0) return <p className="py-1 text-fg-3 text-small">{t('modelsNone')}</p>
  const found = models.filter(model => matches(`${model.name} ${model.label ?? ''}`, query))
  const rank = ({ favorite, enabled }: (typeof models)[number]) => (favorite ? 0 : enabled ? 1 : 2)
  const shown = found.toSorted((a, b) => rank(a) - rank(b))
  return (
    <div className="pb-1">
      {models.length >= SEARCHED && (
        <Input
          type="search"
          size="small"
          icon={Search}
          className="mb-1"
          aria-label={t('modelsSearch')}
          placeholder={t('modelsSearch')}
          value={query}
          onChange={event => setQuery(event.target.value)}
        />
      )}
      {shown.length === 0 && (
        <p role="status" className="py-1 text-fg-3 text-small">
          {t('nothingFound')}
        </p>
      )}
      <ul aria-label={t('providerModels', { name })} className="scroll max-h-[40dvh] divide-y">
        {shown.map(model => (
          <ModelRow key={model.id} model={model} editable={editable} />
        ))}
      </ul>
    </div>
  )
}
