import { ShieldQuestion, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import type { SessionSummary } from '@/api/types'
import { Badge } from '@/components/ui/Badge'
import { Spinner } from '@/components/ui/Spinner'
import { useT } from '@/lib/i18n'

export type State = SessionSummary['state'] | 'approval'

/** The state of a session in the list; nothing while it is idle. */
export function StateMark({ state }: { state: State }): ReactNode {
  const t = useT()
  if (state === 'running') {
    return (
      <span className="flex shrink-0 items-center gap-1 text-[11px] text-accent">
        <Spinner size="small" />
        {t('running')}
      </span>
    )
  }
  if (state === 'approval') {
    return (
      <Badge tone="warn">
        <ShieldQuestion size={12} aria-hidden />
        {t('approvalState')}
      </Badge>
    )
  }
  if (state !== 'error') return null
  return (
    <span title={t('failed')} className="shrink-0 text-bad">
      <TriangleAlert size={13} aria-hidden />
      <span className="sr-only">{t('failed')}</span>
    </span>
  )
}
