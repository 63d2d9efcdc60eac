import { RefreshCw } from 'lucide-react'
import { Banner } from '@/components/ui/Banner'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import { useUi } from '@/stores/ui'

/**
 * The server has a different version than this page. The page never reloads itself, because a file may be unsaved.
 */
export function StaleBanner() {
  const t = useT()
  const stale = useUi(s => s.stale)
  if (!stale) return null
  return (
    <Banner
      tone="news"
      icon={RefreshCw}
      role="status"
      actions={
        <Button size="small" onClick={() => location.reload()}>
          {t('reload')}
        </Button>
      }
    >
      {t('newVersion')}
    </Banner>
  )
}
