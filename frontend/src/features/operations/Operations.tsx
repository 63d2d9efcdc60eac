import { useOperations } from '@/api/queries'
import { Dialog } from '@/components/ui/Dialog'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { WorkRow } from './WorkRow'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  sessionId: string
  /** The work that is unfolded at first; null for the newest. */
  work: string | null
}

/** What miniclaw did in a conversation: every work with what was asked and its operations, oldest first. */
export default function Operations({ open, onOpenChange, sessionId, work }: Props) {
  const t = useT()
  const { data: works, error } = useOperations(sessionId)
  const first = work ?? works?.at(-1)?.work_id
  return (
    <Dialog size="widest" open={open} onOpenChange={onOpenChange} title={t('operations')}>
      {error ? (
        <QueryError error={error} />
      ) : works ? (
        <ol className="space-y-2">
          {works.map(shown => (
            <li key={shown.work_id}>
              <WorkRow sessionId={sessionId} work={shown} first={shown.work_id === first} />
            </li>
          ))}
        </ol>
      ) : (
        <Skeleton label={t('loading')} rows={4} />
      )}
      {works?.length === 0 && <p className="text-[13px] text-fg-2">{t('operationsNone')}</p>}
    </Dialog>
  )
}
