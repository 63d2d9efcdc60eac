import { Files, MessageSquare, MessageSquareOff, Redo2, Undo2 } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import type { WorkOperations } from '@/api/types'
import { reapply } from '@/app/withdraw'
import { Button } from '@/components/ui/Button'
import { Disclosure } from '@/components/ui/Disclosure'
import { moment } from '@/lib/format'
import { useLang, useT } from '@/lib/i18n'
import { closeDialog, openDialog } from '@/stores/ui'
import { OperationRow } from './OperationRow'
import { isStanding } from './operation'

interface Props {
  sessionId: string
  work: WorkOperations
  /** It is unfolded and in view at first. */
  first: boolean
}

/** Characters of a question that mostly fit on its line. */
const WHOLE = 60

/** One work: what was asked, and its operations. */
export function WorkRow({ sessionId, work, first }: Props) {
  const t = useT()
  const lang = useLang()
  const [open, setOpen] = useState(first)
  const row = useRef<HTMLElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the dialog opens
  useEffect(() => {
    if (first) row.current?.scrollIntoView({ block: 'nearest' })
  }, [])
  const { work_id, work_status, create_time, user_messages, operations } = work
  const withdrawn = work_status === 1
  const asked = user_messages.map(message => message.user_content).join('\n\n')
  return (
    <section ref={row} aria-label={asked.slice(0, 80)}>
      <Disclosure
        open={open}
        onToggle={setOpen}
        className="rounded-lg border text-[13px]"
        summaryClass="rounded-lg px-3 py-2 hover:bg-hover"
        summary={
          <>
            <span className="me-auto min-w-0 truncate font-medium">{asked || t('untitled')}</span>
            {withdrawn && <span className="shrink-0 text-fg-3 text-meta">{t('withdrawn')}</span>}
            <span className="shrink-0 text-fg-3 text-meta tabular-nums">
              {t('operationsCount', { n: operations.length })}
            </span>
            {create_time != null && (
              <time
                dateTime={new Date(create_time * 1000).toISOString()}
                className="shrink-0 text-fg-3 text-meta tabular-nums max-md:hidden"
              >
                {moment(create_time, lang)}
              </time>
            )}
          </>
        }
      >
        <div className="space-y-2 px-3 pb-3">
          {(asked.length > WHOLE || asked.includes('\n')) && (
            <p className="whitespace-pre-wrap break-words text-fg-2">{asked}</p>
          )}
          <ol className="divide-y rounded-md border empty:hidden">
            {operations.map(operation => (
              <li key={operation.operation_id}>
                <OperationRow sessionId={sessionId} operation={operation} withdrawn={withdrawn} />
              </li>
            ))}
          </ol>
          <div className="flex flex-wrap gap-2">
            <Link
              href={`/s/${encodeURIComponent(sessionId)}/m/${encodeURIComponent(`${work_id}.`)}`}
              onClick={closeDialog}
              className="inline-flex h-7 items-center gap-1.5 rounded-md border bg-card px-2 text-small hover:bg-hover pointer-coarse:h-9 reach"
            >
              <MessageSquare size={13} aria-hidden />
              {t('operationsShow')}
            </Link>
            {withdrawn ? (
              <Button size="small" onClick={() => void reapply(sessionId, work_id)}>
                <Redo2 size={13} aria-hidden />
                {t('reapply')}
              </Button>
            ) : (
              <Button size="small" onClick={() => openDialog({ name: 'withdraw', work: work_id })}>
                <MessageSquareOff size={13} aria-hidden />
                {t('withdraw')}
              </Button>
            )}
            {operations.some(isStanding) && (
              <Button size="small" onClick={() => openDialog({ name: 'changes', work: work_id })}>
                <Files size={13} aria-hidden />
                {t('viewChanges')}
              </Button>
            )}
            {operations.some(isStanding) && (
              <Button size="small" onClick={() => openDialog({ name: 'undo', work: work_id })}>
                <Undo2 size={13} aria-hidden />
                {t('undoWork')}
              </Button>
            )}
          </div>
        </div>
      </Disclosure>
    </section>
  )
}
