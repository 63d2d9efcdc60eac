import { ShieldOff, Unlock } from 'lucide-react'
import { useStatus } from '@/api/queries'
import { Banner } from '@/components/ui/Banner'
import { useT } from '@/lib/i18n'

/** Warnings that cannot be dismissed: each applies for as long as the server runs with these settings. */
export function SafetyBanners() {
  const t = useT()
  const off = useStatus().data?.sandbox.level === 'off'
  return (
    <>
      {off && (
        <Banner tone="bad" icon={ShieldOff} role="alert" boxed>
          {t('sandboxOff')}
        </Banner>
      )}
      {!window.isSecureContext && (
        <Banner tone="bad" icon={Unlock} role="alert" boxed>
          {t('plainHttp')}
        </Banner>
      )}
    </>
  )
}
