import { ShieldOff, Unlock } from 'lucide-react'
import type { ReactNode } from 'react'
import { useStatus } from '@/api/queries'
import { useT } from '@/lib/i18n'

/** Cannot be closed: each is true for as long as the server runs this way. */
export function SafetyBanners() {
  const t = useT()
  const off = useStatus().data?.sandbox.level === 'off'
  return (
    <>
      {off && (
        <Banner>
          <ShieldOff size={15} aria-hidden className="shrink-0" />
          {t('sandboxOff')}
        </Banner>
      )}
      {!window.isSecureContext && (
        <Banner>
          <Unlock size={15} aria-hidden className="shrink-0" />
          {t('plainHttp')}
        </Banner>
      )}
    </>
  )
}

const Banner = ({ children }: { children: ReactNode }) => (
  <p
    role="alert"
    className="mb-2 flex shrink-0 items-center gap-2 rounded-lg border border-bad-line bg-bad-soft px-3 py-1.5 text-bad text-small max-md:mb-0 max-md:rounded-none"
  >
    {children}
  </p>
)
