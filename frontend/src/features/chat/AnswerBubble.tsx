import { GitBranch, ListTree, MessageSquareOff, RefreshCw, ScanSearch } from 'lucide-react'
import { memo } from 'react'
import { useHint } from '@/app/hint'
import { onDemand } from '@/components/onDemand'
import { IconButton } from '@/components/ui/Button'
import { CopyingButton, useCopy } from '@/components/ui/CopyButton'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { citedIn } from '@/lib/messageCitation'
import { useMounted } from '@/lib/mounted'
import { openDialog } from '@/stores/ui'
import type { Activity, AssistantEntry, Segment } from '@/thread/model'
import { ChangedFiles } from './ChangedFiles'
import { type Change, changesOf } from './changes'
import { MessageToolbar } from './MessageToolbar'
import { messageActions } from './messageActions'
import { OutcomeLine } from './OutcomeLine'
import { RichCopyButton } from './RichCopyButton'
import { StatusLine } from './StatusLine'
import { SegmentView } from './segments/SegmentView'
import { arrivedAt, Time } from './Times'
import { WITHDRAWN, WithdrawnLine } from './WithdrawnLine'

interface Props {
  entry: AssistantEntry
  activity: Activity | null
  since: number | null
  /** Null unless this is the last answer of an idle session. */
  onContinue: ((beyondOwnLimit: boolean) => void) | null
  onReview: (workId: string, path: string) => void
  onUndo: (change: Change) => void
  onUndoAll: (() => void) | null
  /** Null while the session runs. */
  onRegenerate: (() => void) | null
  onBranch: (() => void) | null
  withdrawn: boolean
  /** Null while the session runs, and for a withdrawn answer. */
  onWithdraw: (() => void) | null
  /** Null unless the answer is withdrawn and the session idle. */
  onReapply: (() => void) | null
  pinned: boolean
  onPin: (id: string, pinned: boolean) => void
}

const CitedConversations = onDemand(() => import('./CitedConversations'))

/** The chain of a call that the model is still writing. */
const NO_STEPS: Segment = { kind: 'tools', steps: [] }

/** Whether nothing else on the screen shows activity, so that a status line has to. */
function isQuiet(entry: AssistantEntry): boolean {
  const last = entry.segments.at(-1)
  if (!last || last.kind === 'retrieval' || last.kind === 'retrieved') return true
  return last.kind === 'tools' && last.steps.every(s => s.status !== 'running' && s.status !== 'approval')
}

export const AnswerBubble = memo(function AnswerBubble(props: Props) {
  const { entry, activity, since, onContinue, onReview, onUndo, onUndoAll } = props
  const { onRegenerate, onBranch, withdrawn, onWithdraw, onReapply, pinned, onPin } = props
  const t = useT()
  const copyMessageHint = useHint('copyMessage')
  const regenerateHint = useHint('regenerate')
  const branchHereHint = useHint('branchHere')
  const running = entry.outcome.kind === 'running'
  const copiedText = () => plainText(entry)
  const copying = useCopy(copiedText)
  useMounted(messageActions, entry.id, {
    copyMessage: running ? null : copying.copy,
    regenerate: running ? null : onRegenerate,
    branchHere: running ? null : onBranch,
    pinMessage: running ? null : () => onPin(entry.workId, !pinned),
  })
  const writing = running ? (activity?.writing ?? null) : null
  const segments =
    writing && entry.segments.at(-1)?.kind !== 'tools' ? [...entry.segments, NO_STEPS] : entry.segments
  const last = segments.length - 1
  const cited = running ? [] : citedIn(plainText(entry))
  return (
    <>
      <div
        className={cn(
          'space-y-2.5 rounded-[18px] rounded-es-md border bg-card px-4 py-3 shadow-(--shadow)',
          withdrawn && WITHDRAWN,
        )}
      >
        {segments.map((segment, i) => (
          <SegmentView
            key={i}
            id={`${entry.id}:${i}`}
            workId={entry.workId}
            segment={segment}
            live={running && i === last}
            running={running}
            writing={i === last ? writing : null}
          />
        ))}
        {running && !writing && (activity || isQuiet(entry)) && (
          <StatusLine activity={activity} since={since} />
        )}
        {!running && cited.length > 0 && <CitedConversations places={cited} />}
        {!withdrawn && (
          <ChangedFiles
            changes={changesOf(entry)}
            onShow={() => openDialog({ name: 'changes', work: entry.workId })}
            onReview={path => onReview(entry.workId, path)}
            onUndo={onUndo}
            onUndoAll={running ? null : onUndoAll}
          />
        )}
        <OutcomeLine outcome={entry.outcome} onContinue={onContinue} />
      </div>
      {withdrawn && <WithdrawnLine onReapply={onReapply} />}
      {!running && (
        <div className="mt-1 flex flex-wrap items-center gap-1">
          <MessageToolbar pinned={pinned} onPin={on => onPin(entry.workId, on)}>
            <CopyingButton {...copyMessageHint} copying={copying} />
            <RichCopyButton text={copiedText} />
            {onRegenerate && (
              <IconButton {...regenerateHint} size="smallIcon" onClick={onRegenerate}>
                <RefreshCw size={13} aria-hidden />
              </IconButton>
            )}
            <IconButton
              label={t('xrayOfAnswer')}
              size="smallIcon"
              onClick={() => openDialog({ name: 'xray', work: entry.workId })}
            >
              <ScanSearch size={14} aria-hidden />
            </IconButton>
            {entry.segments.some(segment => segment.kind === 'tools') && (
              <IconButton
                label={t('operationsOfAnswer')}
                size="smallIcon"
                onClick={() => openDialog({ name: 'operations', work: entry.workId })}
              >
                <ListTree size={14} aria-hidden />
              </IconButton>
            )}
            {onWithdraw && (
              <IconButton label={t('withdraw')} size="smallIcon" onClick={onWithdraw}>
                <MessageSquareOff size={14} aria-hidden />
              </IconButton>
            )}
            {onBranch && (
              <IconButton {...branchHereHint} size="smallIcon" onClick={onBranch}>
                <GitBranch size={14} aria-hidden />
              </IconButton>
            )}
          </MessageToolbar>
          <Time at={arrivedAt(entry.id, entry.createdAt)} />
          <span className="ms-auto flex min-w-0 flex-wrap justify-end gap-x-2 text-meta">
            {entry.leftOut > 0 && (
              <span className="text-warn" title={t('leftOutAnswerHint')}>
                {t('leftOutAnswer', { n: entry.leftOut })}
              </span>
            )}
            {entry.model && (
              <span className="truncate text-fg-3" title={t('answeredBy')}>
                {entry.insteadOf
                  ? t('insteadOf', { model: entry.model, other: entry.insteadOf })
                  : entry.model}
              </span>
            )}
          </span>
        </div>
      )}
    </>
  )
})

export const plainText = (entry: AssistantEntry): string =>
  entry.segments.flatMap(s => (s.kind === 'text' ? [s.text] : [])).join('\n\n')
