import { RefreshCw } from 'lucide-react'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import { useUi } from '@/stores/ui'

/** The server is another version than this page. Never reloaded by itself: there may be a file that is not saved. */
export function StaleBanner() {
  const t = useT()
  const stale = useUi(s => s.stale)
  if (!stale) return null
  return (
    <div
      role="status"
      className="appear flex items-center gap-2 border-b bg-accent-soft px-3 py-1.5 text-small text-accent"
    >
      <RefreshCw size={14} aria-hidden />
      <span className="me-auto">{t('newVersion')}</span>
      <Button size="small" onClick={() => location.reload()}>
        {t('reload')}
      </Button>
    </div>
  )
}
