import type { Provider } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import { remove } from './changes'

interface Props {
  provider: Provider
  onDone: () => void
}

/** Asks before a provider and its key are removed. */
export function RemoveProvider({ provider, onDone }: Props) {
  const t = useT()
  return (
    <div className="mt-2 flex flex-wrap items-center gap-2 border-t pt-2 text-small">
      <p className="min-w-[24ch] flex-1 text-fg-2">{t('providerRemoveSure', { name: provider.name })}</p>
      <span className="ms-auto flex flex-wrap justify-end gap-2">
        <Button size="small" onClick={onDone}>
          {t('cancel')}
        </Button>
        <Button size="small" look="danger" onClick={() => void remove(provider)}>
          {t('providerRemove', { name: provider.name })}
        </Button>
      </span>
    </div>
  )
}
