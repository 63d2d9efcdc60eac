import { Badge } from '@/components/ui/Badge'
import { useT } from '@/lib/i18n'
import type { Risk } from './risks'

export function RiskBadges({ risks }: { risks: readonly Risk[] }) {
  const t = useT()
  if (risks.length === 0) return null
  return (
    <ul aria-label={t('risks')} className="flex flex-wrap gap-1.5">
      {risks.map(({ word, icon: Icon, tone }) => (
        <li key={word} className="flex">
          <Badge tone={tone}>
            <Icon size={12} aria-hidden />
            {t(word)}
          </Badge>
        </li>
      ))}
    </ul>
  )
}
