import { Trash2 } from 'lucide-react'
import type { AlwaysRule } from '@/api/types'
import { IconButton } from '@/components/ui/Button'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { Visible } from '@/components/Visible'
import { moment } from '@/lib/format'
import { locale, useLang, useT } from '@/lib/i18n'

interface Props {
  rules: AlwaysRule[] | undefined
  error: unknown
  onRemove: (rule: AlwaysRule) => void
}

/** The calls that are allowed without asking; each rule can be removed. */
export function AlwaysRules({ rules, error, onRemove }: Props) {
  const t = useT()
  const lang = useLang()
  if (!rules) {
    return error ? <QueryError error={error} /> : <Skeleton label={t('loading')} rows={2} />
  }
  if (rules.length === 0) return <p className="text-fg-3 text-small">{t('noRules')}</p>
  return (
    <ul className="space-y-1.5">
      {rules.map(rule => (
        <li key={rule.id} className="flex items-start gap-2 rounded-md border bg-code py-1.5 ps-2.5 pe-1">
          <div className="min-w-0 flex-1">
            <p className="flex flex-wrap gap-x-2 text-small">
              <code className="font-mono font-semibold text-[12px]">{rule.tool}</code>
              <span className="text-fg-3">{t('ruleSince', { at: moment(rule.added_at, locale(lang)) })}</span>
            </p>
            <pre className="plain mt-0.5 whitespace-pre-wrap [overflow-wrap:anywhere]">
              <Visible text={rule.host ?? JSON.stringify(rule.arguments, null, 2)} />
            </pre>
          </div>
          <IconButton
            label={t('removeRule', { tool: rule.tool })}
            size="smallIcon"
            onClick={() => onRemove(rule)}
          >
            <Trash2 size={14} aria-hidden />
          </IconButton>
        </li>
      ))}
    </ul>
  )
}
