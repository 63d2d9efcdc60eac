import { ShieldOff } from 'lucide-react'
import { useStatus } from '@/api/queries'
import { useT } from '@/lib/i18n'

/** Cannot be closed: it is true for as long as the server runs this way. */
export function SandboxBanner() {
  const t = useT()
  if (useStatus().data?.sandbox.level !== 'off') return null
  return (
    <p
      role="alert"
      className="mb-2 flex shrink-0 items-center gap-2 rounded-lg border border-bad-line bg-bad-soft px-3 py-1.5 text-bad text-small max-md:mb-0 max-md:rounded-none"
    >
      <ShieldOff size={15} aria-hidden className="shrink-0" />
      {t('sandboxOff')}
    </p>
  )
}
