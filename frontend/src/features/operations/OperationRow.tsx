import { Check, CircleDashed, CircleX, Redo2, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { keys, refresh } from '@/api/queries'
import type { Operation } from '@/api/types'
import { undo } from '@/app/threads'
import { Button } from '@/components/ui/Button'
import { Disclosure } from '@/components/ui/Disclosure'
import { Visible } from '@/components/Visible'
import { type Key, useT } from '@/lib/i18n'
import { type Became, became, resultOf } from './operation'

const LOOK: Readonly<Record<Became, { word: Key; Icon: typeof Check; tone: string }>> = {
  done: { word: 'stepDone', Icon: Check, tone: 'text-ok' },
  failed: { word: 'stepError', Icon: CircleX, tone: 'text-bad' },
  undone: { word: 'undone', Icon: Undo2, tone: 'text-fg-3' },
  none: { word: 'operationNotRun', Icon: CircleDashed, tone: 'text-fg-3' },
}

interface Props {
  sessionId: string
  operation: Operation
  /** Its work is withdrawn: the operation can only be reapplied with it. */
  withdrawn: boolean
}

/** One operation: what became of it, its tool, and what it did. */
export function OperationRow({ sessionId, operation, withdrawn }: Props) {
  const t = useT()
  const [open, setOpen] = useState(false)
  const { operation_id, operation_method, operation_code } = operation
  const state = became(operation)
  const { word, Icon, tone } = LOOK[state]
  const result = resultOf(operation)
  const onUndo = async () => {
    await undo(sessionId, operation_id)
    refresh(keys.operations(sessionId))
  }
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      summaryClass="px-2 py-1.5 hover:bg-hover"
      summary={
        <>
          <Icon size={14} aria-hidden className={`shrink-0 ${tone}`} />
          <span className="sr-only">{t(word)}</span>
          <code className="shrink-0 font-mono text-[12px]">{operation_method}</code>
          <span className="min-w-0 flex-1 truncate font-mono text-[12px] text-fg-3">
            <Visible text={operation_code.replace(/\s+/g, ' ')} />
          </span>
          {state === 'undone' && !withdrawn && (
            <span className="shrink-0 text-fg-3 text-meta">{t('undone')}</span>
          )}
        </>
      }
    >
      <div className="space-y-2 px-2 pb-2">
        <pre className="overflow-x-auto whitespace-pre-wrap break-words rounded-md bg-pane-2 p-2 font-mono text-[12px]">
          <Visible text={operation_code} />
        </pre>
        {result && <p className="break-words text-fg-2">{result.message}</p>}
        {result?.undo && !withdrawn && (
          <Button size="small" onClick={() => void onUndo()}>
            {state === 'undone' ? <Redo2 size={13} aria-hidden /> : <Undo2 size={13} aria-hidden />}
            {t(state === 'undone' ? 'redo' : 'undo')}
          </Button>
        )}
      </div>
    </Disclosure>
  )
}
