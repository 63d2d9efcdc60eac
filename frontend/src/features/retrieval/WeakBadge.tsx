import { Badge } from '@/components/ui/Badge'
import { useT } from '@/lib/i18n'

/** Marks a passage that probably does not answer the question. */
export function WeakBadge() {
  const t = useT()
  return (
    <span title={t('weakHint')} className="shrink-0">
      <Badge tone="warn">{t('weak')}</Badge>
    </span>
  )
}
