import { useT } from '@/lib/i18n'
import { Skeleton } from './ui/Skeleton'

/** Placeholder for a pane whose code is loading. */
export function PanePending() {
  const t = useT()
  return (
    <div className="pane h-full rounded-xl max-md:rounded-none max-md:border-0">
      <Skeleton label={t('loading')} rows={4} />
    </div>
  )
}
