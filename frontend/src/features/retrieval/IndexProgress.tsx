import type { FolderStatus } from '@/api/types'
import { Bar } from '@/components/ui/Bar'
import { useT } from '@/lib/i18n'

/** The progress of an index while it is being built; nothing otherwise. */
export function IndexProgress({ status }: { status: Pick<FolderStatus, 'state' | 'done' | 'total'> }) {
  const t = useT()
  const { state, done, total } = status
  if (state !== 'building' && state !== 'embedding') return null
  const share = total > 0 ? done / total : 0
  const words = t(state === 'building' ? 'indexBuilding' : 'indexEmbedding', { n: Math.floor(share * 100) })
  return (
    <div
      role="progressbar"
      aria-label={words}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.floor(share * 100)}
      className="pb-0.5"
    >
      <span className="tabular-nums">{words}</span>
      <Bar className="mt-0.5" parts={[{ share, className: 'bg-accent' }]} />
    </div>
  )
}
