import { WifiOff } from 'lucide-react'
import { useEffect, useState } from 'react'
import { reconnect } from '@/app/follow'
import { Banner } from '@/components/ui/Banner'
import { Button } from '@/components/ui/Button'
import { useT } from '@/lib/i18n'
import { announce } from '@/stores/announcer'
import { type ShownConnection, useLive } from '@/stores/live'

/** Milliseconds; a shorter interruption is not shown. */
const PATIENCE = 1000

/** Whole seconds until a moment; 0 if there is none or it has passed. */
function useSecondsUntil(at: number | null): number {
  const [, tick] = useState(0)
  useEffect(() => {
    if (at === null) return
    const timer = setInterval(() => tick(n => n + 1), 500)
    return () => clearInterval(timer)
  }, [at])
  return at === null ? 0 : Math.max(0, Math.ceil((at - Date.now()) / 1000))
}

export function ConnectionBanner({ connection }: { connection: ShownConnection }) {
  const t = useT()
  const [shown, setShown] = useState(false)
  const retryAt = useLive(s => s.retryAt)
  const broken = connection === 'lost' || (shown && connection === 'connecting')
  useEffect(() => {
    const timer = setTimeout(() => setShown(broken), broken ? PATIENCE : 0)
    return () => clearTimeout(timer)
  }, [broken])
  useEffect(() => {
    if (shown) announce(t('disconnected'))
  }, [shown, t])
  const seconds = useSecondsUntil(shown ? retryAt : null)
  if (!shown) return null
  return (
    <Banner
      tone="warn"
      icon={WifiOff}
      actions={
        <Button size="small" onClick={reconnect}>
          {t('retryNow')}
        </Button>
      }
    >
      {seconds > 0 ? t('reconnectingIn', { n: seconds }) : t('reconnecting')}
    </Banner>
  )
}
