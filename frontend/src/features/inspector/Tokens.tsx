import { count } from '@/lib/format'
import { useT } from '@/lib/i18n'

/** What a file of a list costs; nothing for one that is no text. */
export function Tokens({ n }: { n: number | null | undefined }) {
  const t = useT()
  if (n == null) return null
  return (
    <span className="beside-menu ms-auto shrink-0 text-fg-3 text-meta tabular-nums">
      {t('tokens', { n: count(n) })}
    </span>
  )
}
