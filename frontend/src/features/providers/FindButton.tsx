import { Search } from 'lucide-react'
import { useState } from 'react'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { find } from './changes'

/** Searches this machine for model servers that were started after miniclaw. */
export function FindButton({ onFound }: { onFound?: () => void }) {
  const t = useT()
  const [busy, setBusy] = useState(false)
  const search = async () => {
    setBusy(true)
    const found = await find()
    setBusy(false)
    if (found) onFound?.()
  }
  return (
    <Button size="small" title={t('providersFindHint')} disabled={busy} onClick={search}>
      <Search size={13} aria-hidden />
      {t('providersFind')}
    </Button>
  )
}
