import { useT } from '@/lib/i18n'
import type { ShownChange } from './kinds'

/** The numbers of added and removed lines of a file, if they are known. */
export function LineCounts({ file: { added, removed } }: { file: Pick<ShownChange, 'added' | 'removed'> }) {
  const t = useT()
  if (added == null || removed == null) return null
  return (
    <span className="shrink-0 font-mono text-[12px] tabular-nums">
      <span aria-hidden>
        <span className="text-ok">+{added}</span> <span className="text-bad">−{removed}</span>
      </span>
      <span className="sr-only">{t('changeLines', { added, removed })}</span>
    </span>
  )
}
