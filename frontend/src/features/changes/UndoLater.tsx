import { Undo2 } from 'lucide-react'
import { useState } from 'react'
import { useChanges, useUndoingLater } from '@/api/changeQueries'
import { hasCode } from '@/api/client'
import { undoAll } from '@/app/threads'
import { useCommand } from '@/app/useCommand'
import { Banner } from '@/components/ui/Banner'
import { Button } from '@/components/ui/Button'
import { Dialog, DialogActions } from '@/components/ui/Dialog'
import { FilePreviews } from '@/features/undo/FilePreviews'
import { FileUndoing } from '@/features/undo/FileUndoing'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { shownPath } from '@/lib/roots'
import { useLive } from '@/stores/live'
import { shownThread } from '@/thread/loaded'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  sessionId: string
  /** The work after which everything is undone. */
  work: string
}

/** Where an undo stopped. */
interface Stop {
  /** The files of the call that could not be undone. */
  paths: string
  /** Number of changes that were undone before. */
  n: number
}

/** Previews undoing the changes of all works after one, and undoes them. */
export default function UndoLater({ open, onOpenChange, sessionId, work }: Props) {
  const t = useT()
  const { data: plan, error, refetch } = useUndoingLater(sessionId, work)
  const prompt = useChanges(sessionId, null).data?.works.find(({ work_id }) => work_id === work)?.prompt
  const running = useLive(s => shownThread(s.threads[sessionId])?.running != null)
  const { run } = useCommand('changes')
  const [stop, setStop] = useState<Stop | null>(null)
  const [undoing, setUndoing] = useState(false)
  const busy = running || hasCode(error, 'busy')
  const conflicts = plan?.files.filter(file => file.diff == null).map(file => shownPath(file.path)) ?? []
  const separator = t('listSeparator')
  const onUndo = async () => {
    if (!plan) return
    setUndoing(true)
    const stopped = await undoAll(sessionId, plan.calls)
    setUndoing(false)
    if (stopped === null) return run()
    const paths = plan.files.filter(({ calls }) => calls.includes(stopped)).map(({ path }) => shownPath(path))
    const n = plan.calls.length - plan.calls.indexOf(stopped) - 1
    setStop({ paths: paths.join(separator), n })
    void refetch()
  }
  return (
    <Dialog size="wide" open={open} onOpenChange={onOpenChange} title={t('undoLaterTitle')}>
      <p className="mb-3 text-[13px] text-fg-2 [overflow-wrap:anywhere]">
        {t('undoLaterExplained', { prompt: prompt?.slice(0, 80) ?? '…' })}
      </p>
      {stop && (
        <Banner boxed tone="bad" role="alert">
          {t('undoLaterStopped', { paths: stop.paths, n: stop.n })}
        </Banner>
      )}
      {conflicts.length > 0 && !stop && (
        <Banner boxed tone="warn">
          {t('undoLaterConflicts', { n: conflicts.length, paths: conflicts.join(separator) })}
        </Banner>
      )}
      <FilePreviews busy={busy} error={error} files={plan?.files} nothing={t('undoNothing')}>
        {file => <FileUndoing file={file} />}
      </FilePreviews>
      <DialogActions>
        <Button onClick={() => onOpenChange(false)}>{t('cancel')}</Button>
        <Button
          look="solid"
          disabled={busy || undoing || !plan || plan.calls.length === 0}
          onClick={() => void onUndo()}
        >
          <Undo2 size={14} aria-hidden />
          {t('undoChanges', { n: plan?.calls.length ?? 0 })}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
