import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'

const WIDTHS = ['w-[70%]', 'w-[90%]', 'w-[50%]', 'w-[80%]']

export function Skeleton({ label, rows = 3 }: { label: string; rows?: number }) {
  return (
    <div className="late space-y-2.5 p-3" aria-busy="true">
      <span className="sr-only">{label}</span>
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} className={cn('h-3 animate-pulse rounded bg-hover', WIDTHS[i % WIDTHS.length])} />
      ))}
    </div>
  )
}

/** Placeholder for content that is loaded on demand. */
export function Pending() {
  const t = useT()
  return <Skeleton label={t('loading')} rows={4} />
}
