import { ShieldCheck, ShieldX } from 'lucide-react'
import { Visible } from '@/components/Visible'
import { type Translate, useT } from '@/lib/i18n'
import type { Verdict as Given } from '@/thread/model'

function wordsOf({ decision, scope, changed, reason }: Given, t: Translate): string {
  switch (decision) {
    case 'approved':
      if (changed) return t('verdictChanged')
      return t(scope === 'always' ? 'verdictAlways' : 'verdictOnce')
    case 'denied':
      return reason ? t('verdictReason', { reason }) : t('verdictDenied')
    case 'expired':
      return t('verdictExpired')
    case 'cancelled':
      return t('verdictCancelled')
  }
}

/** A person's decision about a call. */
export function Verdict({ verdict }: { verdict: Given | null }) {
  const t = useT()
  if (!verdict) return null
  const Icon = verdict.decision === 'approved' ? ShieldCheck : ShieldX
  return (
    <p className="flex items-center gap-1.5 text-fg-2 text-small [overflow-wrap:anywhere]">
      <Icon size={13} aria-hidden className="shrink-0" />
      <span>
        <Visible text={wordsOf(verdict, t)} />
      </span>
    </p>
  )
}
