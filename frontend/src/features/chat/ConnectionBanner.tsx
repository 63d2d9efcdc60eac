import { WifiOff } from 'lucide-react'
import { reconnect } from '@/app/follow'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import type { Connection } from '@/stores/live'

export function ConnectionBanner({ connection }: { connection: Connection }) {
  const t = useT()
  if (connection !== 'lost') return null
  return (
    <div className="appear flex items-center gap-2 border-warn-line border-b bg-warn-soft px-3 py-1.5 text-small text-warn">
      <WifiOff size={14} aria-hidden />
      <span className="me-auto">{t('reconnecting')}</span>
      <Button size="small" onClick={reconnect}>
        {t('retryNow')}
      </Button>
    </div>
  )
}
