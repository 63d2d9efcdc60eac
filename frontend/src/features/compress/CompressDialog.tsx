import '@/lib/later'
import { useState } from 'react'
import { Button } from '@/components/ui/Button'
import { Dialog } from '@/components/ui/Dialog'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import { useLive } from '@/stores/live'
import { shownThread } from '@/thread/loaded'
import { AutoCompactChoice } from './AutoCompactChoice'
import { Planned } from './Planned'
import { Review } from './Review'
import { useProposal } from './useProposal'

export interface Accepted {
  hash: string
  summary: string
}

interface Props {
  sessionId: string
  open: boolean
  onOpenChange: (open: boolean) => void
  /** Resolves to null on success, else to the reason. */
  onAccept: (accepted: Accepted) => Promise<string | null>
}

/** Shows what would be summarised, then a summary beside it; nothing changes until the person accepts it. */
export default function CompressDialog({ sessionId, open, onOpenChange, onAccept }: Props) {
  const t = useT()
  const { state, look, ask, callOff, write } = useProposal(sessionId)
  const pinned = useLive(s => (shownThread(s.threads[sessionId])?.pinned.length ?? 0) > 0)
  const [changed, setChanged] = useState(false)
  const [leaving, setLeaving] = useState(false)
  const close = () => onOpenChange(false)
  /** Asks before an edited summary is discarded. Another attempt to leave withdraws the question. */
  const leave = () => {
    if (state.phase === 'review' && changed) setLeaving(!leaving)
    else close()
  }
  return (
    <Dialog
      size={state.phase === 'review' ? 'widest' : 'wide'}
      open={open}
      onOpenChange={open => (open ? onOpenChange(true) : leave())}
      title={t('compressTitle')}
    >
      {state.phase === 'loading' && <Skeleton label={t('loading')} rows={5} />}
      {state.phase === 'failed' && (
        <>
          <p role="alert" className="text-[13px] text-fg-2">
            {state.code === 'too_short'
              ? t('tooShort')
              : state.code === 'changed_since'
                ? t('compressChanged')
                : state.code === 'busy'
                  ? t('compressBusy')
                  : t('loadFailed', { reason: state.reason })}
          </p>
          <div className="mt-4 flex justify-end gap-2">
            <Button onClick={close}>{t('close')}</Button>
            {state.code !== 'too_short' && (
              <Button look="solid" onClick={look}>
                {t('compressAgain')}
              </Button>
            )}
          </div>
        </>
      )}
      {(state.phase === 'plan' || state.phase === 'asking') && (
        <Planned
          plan={state.plan}
          pinned={pinned}
          problem={state.phase === 'plan' ? state.problem : null}
          asking={state.phase === 'asking'}
          onAsk={() => ask(state.plan)}
          onCallOff={() => callOff(state.plan)}
          onWrite={() => write(state.plan)}
          onClose={close}
        />
      )}
      {state.phase === 'plan' && <AutoCompactChoice sessionId={sessionId} />}
      {state.phase === 'review' && (
        <Review
          plan={state.plan}
          proposed={state.proposed}
          onAccept={summary => onAccept({ hash: state.plan.hash, summary })}
          onLook={() => {
            setChanged(false)
            look()
          }}
          onChanged={setChanged}
          onClose={leave}
          leaving={leaving ? { stay: () => setLeaving(false), leave: close } : null}
        />
      )}
    </Dialog>
  )
}
