import '@/lib/later'
import { Undo2 } from 'lucide-react'
import { hasCode } from '@/api/client'
import { useUndoing } from '@/api/queries'
import { Button } from '@/components/ui/Button'
import { Dialog } from '@/components/ui/Dialog'
import { useT } from '@/lib/i18n'
import { useLive } from '@/stores/live'
import { shownThread } from '@/thread/loaded'
import { FilePreviews } from './FilePreviews'
import { FileUndoing } from './FileUndoing'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  sessionId: string
  work: string
  /** Called with the ids of the calls whose changes to undo, oldest first. */
  onUndo: (calls: string[]) => void
}

/** Previews what undoing all changes of a work would do to files. */
export default function UndoWork({ open, onOpenChange, sessionId, work, onUndo }: Props) {
  const t = useT()
  const { data, error } = useUndoing(sessionId, work)
  // What only a stopped call changed is taken back with the whole work.
  const files = data?.filter(file => file.calls.length > 0)
  const running = useLive(s => shownThread(s.threads[sessionId])?.running != null)
  const busy = running || hasCode(error, 'busy')
  const calls = files?.filter(file => file.diff != null).flatMap(file => file.calls) ?? []
  return (
    <Dialog size="wide" open={open} onOpenChange={onOpenChange} title={t('undoWork')}>
      <p className="mb-3 text-[13px] text-fg-2">{t('undoLimits')}</p>
      <FilePreviews busy={busy} error={error} files={files} nothing={t('undoNothing')}>
        {file => <FileUndoing file={file} />}
      </FilePreviews>
      <div className="mt-4 flex flex-wrap justify-end gap-2">
        <Button onClick={() => onOpenChange(false)}>{t('cancel')}</Button>
        <Button look="solid" disabled={busy || calls.length === 0} onClick={() => onUndo(calls)}>
          <Undo2 size={14} aria-hidden />
          {t('undoChanges', { n: calls.length })}
        </Button>
      </div>
    </Dialog>
  )
}
