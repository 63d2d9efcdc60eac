import { Clock, RotateCcw, TriangleAlert, X } from 'lucide-react'
import { Button } from '@/components/ui/Button'
import { SentFiles } from '@/features/attach/SentFiles'
import { useT } from '@/lib/i18n'
import type { Outgoing } from '@/stores/live'

interface Props {
  item: Outgoing
  onResend: (item: Outgoing) => void
  onDiscard: (key: string) => void
}

/** A message that the server has not confirmed yet. */
export function OutgoingBubble({ item, onResend, onDiscard }: Props) {
  const t = useT()
  return (
    <>
      <SentFiles files={item.attachments} />
      {item.content !== '' && (
        <div className="ms-auto w-fit max-w-[85%] whitespace-pre-wrap rounded-[18px] rounded-ee-md bg-user px-3.5 py-2 text-user-fg [overflow-wrap:anywhere]">
          {item.content}
        </div>
      )}
      {item.state.kind === 'failed' ? (
        <div className="mt-1.5 flex flex-wrap items-center justify-end gap-1.5 text-bad text-small">
          <TriangleAlert size={13} aria-hidden />
          <span>{t('notSent', { reason: item.state.reason })}</span>
          <Button size="small" onClick={() => onResend(item)}>
            <RotateCcw size={13} aria-hidden />
            {t('retry')}
          </Button>
          <Button size="small" look="ghost" onClick={() => onDiscard(item.key)}>
            <X size={13} aria-hidden />
            {t('cancel')}
          </Button>
        </div>
      ) : item.state.kind === 'held' ? (
        <div className="mt-1.5 flex items-center justify-end gap-1.5 text-small text-warn">
          <Clock size={13} aria-hidden />
          <span>{t('held')}</span>
          <Button size="small" look="ghost" onClick={() => onDiscard(item.key)}>
            <X size={13} aria-hidden />
            {t('cancel')}
          </Button>
        </div>
      ) : (
        <p className="late mt-1 text-end text-fg-3 text-meta">{t('sending')}</p>
      )}
    </>
  )
}
