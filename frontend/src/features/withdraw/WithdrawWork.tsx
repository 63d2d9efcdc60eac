import '@/lib/later'
import { MessageSquareOff } from 'lucide-react'
import { useState } from 'react'
import { hasCode } from '@/api/client'
import { useUndoing } from '@/api/queries'
import type { FileUndo } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { Dialog } from '@/components/ui/Dialog'
import { FilePreviews } from '@/features/undo/FilePreviews'
import { useT } from '@/lib/i18n'
import { useLive } from '@/stores/live'
import { shownThread } from '@/thread/loaded'
import { hasConflict, questionOf, sorted } from './file'
import { WithdrawnFile } from './WithdrawnFile'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  sessionId: string
  work: string
  /** Called with the files that stay as they are. */
  onWithdraw: (keep: string[]) => void
  /** Shows the same for a later work, which has to be withdrawn first. */
  onOther: (work: string) => void
}

/** Shows what becomes of each file when a work is withdrawn, and lets the person keep files. */
export default function WithdrawWork(props: Props) {
  const { open, onOpenChange, sessionId, work, onWithdraw, onOther } = props
  const t = useT()
  const { data: files, error } = useUndoing(sessionId, work)
  const thread = useLive(s => shownThread(s.threads[sessionId]))
  const [kept, setKept] = useState<readonly string[]>([])
  const busy = thread?.running != null || hasCode(error, 'busy')
  const keep = (path: string, on: boolean) =>
    setKept(others => (on ? [...others, path] : others.filter(other => other !== path)))
  const laterOf = (file: FileUndo) => {
    const id = file.later_works?.at(-1)
    return id === undefined ? null : { id, question: questionOf(thread, id) }
  }
  const unsettled = files?.filter(file => hasConflict(file) && !kept.includes(file.path)).length ?? 0
  return (
    <Dialog size="wide" open={open} onOpenChange={onOpenChange} title={t('withdrawTitle')}>
      <p className="mb-3 text-[13px] text-fg-2">{t('withdrawLimits')}</p>
      <FilePreviews busy={busy} error={error} files={files && sorted(files)} nothing={t('withdrawNoFiles')}>
        {file => (
          <WithdrawnFile
            file={file}
            later={laterOf(file)}
            kept={kept.includes(file.path)}
            onKeep={on => keep(file.path, on)}
            onOther={onOther}
          />
        )}
      </FilePreviews>
      {unsettled > 0 && !busy && (
        <p role="status" className="mt-3 text-[13px] text-warn">
          {t('withdrawBlocked', { n: unsettled })}
        </p>
      )}
      <div className="mt-4 flex flex-wrap justify-end gap-2">
        <Button onClick={() => onOpenChange(false)}>{t('cancel')}</Button>
        <Button look="solid" disabled={busy || !files || unsettled > 0} onClick={() => onWithdraw([...kept])}>
          <MessageSquareOff size={14} aria-hidden />
          {t('withdraw')}
        </Button>
      </div>
    </Dialog>
  )
}
