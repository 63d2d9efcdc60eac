import { Globe } from 'lucide-react'
import type { Rehearsed } from '@/api/types'
import { Visible } from '@/components/Visible'
import { useT } from '@/lib/i18n'

/** A list longer than this may have to be scrolled, also by keyboard. */
const NAMES_IN_VIEW = 20

/** The hosts that a command asked for while it had no network; nothing if there are none. */
export function RequestedHosts({
  rehearsal: { hosts = [], more_hosts: more = 0 },
}: {
  rehearsal: Rehearsed
}) {
  const t = useT()
  if (hosts.length === 0) return null
  return (
    <div className="flex items-start gap-1.5 text-fg-2 text-small [overflow-wrap:anywhere]">
      <Globe size={13} aria-hidden className="mt-0.5 shrink-0" />
      <div className="scroll max-h-40 min-w-0 flex-1" tabIndex={hosts.length > NAMES_IN_VIEW ? 0 : undefined}>
        <p>
          <Visible text={t('effectHosts', { hosts: hosts.join(', ') })} />
        </p>
        {more > 0 && <p>{t('contactsMore', { n: more })}</p>}
      </div>
    </div>
  )
}
