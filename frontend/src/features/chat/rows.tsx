import type { PinnedMessage } from '@/api/types'
import type { NewMessage } from '@/app/threads'
import { Markdown } from '@/components/markdown/Markdown'
import { onDemand } from '@/components/onDemand'
import { Disclosure } from '@/components/ui/Disclosure'
import { getLang, type Translate, useT } from '@/lib/i18n'
import { useFold } from '@/stores/folds'
import type { Outgoing } from '@/stores/live'
import { branchesAt } from '@/thread/branches'
import { beginningOf } from '@/thread/find'
import type { Entry, Parent, Thread } from '@/thread/model'
import { AnswerBubble } from './AnswerBubble'
import { BranchedFrom } from './BranchedFrom'
import type { Change } from './changes'
import { heightOfAnswer, heightOfMessage } from './estimate'
import { OutgoingBubble } from './OutgoingBubble'
import { arrivedAt, DaySeparator, dayBegun } from './Times'
import type { Row } from './Transcript'
import { UserBubble } from './UserBubble'

export interface RowActions {
  onContinue: (beyondOwnLimit: boolean) => void
  /** Continues the conversation from a message, with its own text or another. */
  onResendFrom: (message: string, said: NewMessage) => void
  onSwitchBranch: (message: string, to: string) => void
  onBranch: (workId: string) => void
  /** Pins a message, or an answer by the id of its work; or unpins it. */
  onPin: (id: string, pinned: boolean) => void
  /** Compares a file that an answer changed with its text before. */
  onReview: (workId: string, path: string) => void
  onUndo: (change: Change) => void
  onUndoAll: (workId: string) => void
  /** Shows what withdrawing the work would do. */
  onWithdraw: (workId: string) => void
  onReapply: (workId: string) => void
  onResend: (item: Outgoing) => void
  onDiscard: (key: string) => void
}

const PinnedMessages = onDemand(() => import('./PinnedMessages'))
const EarlierMessages = onDemand(() => import('./EarlierMessages'))

/** The rows of the transcript: the entries of the thread, then the messages that the server has not confirmed yet. */
export function rowsOf(
  thread: Thread | null,
  outgoing: Outgoing[],
  actions: RowActions,
  t: Translate,
): Row[] {
  const entries = thread?.entries ?? []
  const parent = thread?.parent
  const compacted = thread?.pinned.filter(message => message.compacted) ?? []
  return [
    ...(thread && parent ? [parentRow(thread, parent, t)] : []),
    ...(compacted.length > 0 ? [pinnedRow(compacted, actions, t)] : []),
    ...(thread
      ? withEarlierLine(
          thread,
          entries.map((_, i) => entryRow(thread, i, actions, t)),
        )
      : []),
    ...outgoing.map(item => ({
      key: item.key,
      label: t('you'),
      estimate: 80,
      body: <OutgoingBubble item={item} onResend={actions.onResend} onDiscard={actions.onDiscard} />,
    })),
  ]
}

/** Pixels of the line above the first message. */
const EARLIER = 44

/**
 * Puts the line of what is not loaded yet above the first message, in its row: a row of its own would stay at the top of
 * the view instead of that message.
 */
function withEarlierLine({ earlier, sessionId, entries }: Thread, rows: Row[]): Row[] {
  const at = entries[0]?.kind === 'summary' ? 1 : 0
  const first = rows[at]
  if (!earlier || !first) return rows
  const body = (
    <>
      <EarlierMessages sessionId={sessionId} count={earlier.count} />
      {first.body}
    </>
  )
  return rows.with(at, { ...first, estimate: first.estimate + EARLIER, body })
}

const pinnedRow = (messages: readonly PinnedMessage[], actions: RowActions, t: Translate): Row => ({
  key: 'pinned',
  label: t('pinnedMessages'),
  estimate: 60 * messages.length,
  body: <PinnedMessages messages={messages} onPin={actions.onPin} />,
})

const parentRow = (thread: Thread, parent: Parent, t: Translate): Row => ({
  key: 'parent',
  label: t('branchedLabel'),
  estimate: 36,
  body: <BranchedFrom parent={parent} point={beginningOf(thread, parent.messageId)} />,
})

/** Each entry's row with the inputs it was made from: while an answer grows, the other rows keep their elements. */
const made = new WeakMap<Entry, { of: readonly unknown[]; row: Row }>()

function entryRow(thread: Thread, at: number, actions: RowActions, t: Translate): Row {
  const entry = thread.entries[at] as Entry
  const running = entry.kind === 'assistant' && entry.outcome.kind === 'running'
  const { branches, activity } = thread
  const last = at === thread.entries.length - 1
  const of = [
    thread.entries[at - 1],
    last,
    thread.running === null,
    branches,
    isPinned(thread, entry),
    isWithdrawn(thread, entry),
    running && activity,
    actions,
    t,
    new Date().toDateString(),
  ]
  const known = made.get(entry)
  if (known?.of.every((part, i) => part === of[i])) return known.row
  const row = makeRow(thread, at, actions, t)
  made.set(entry, { of, row })
  return row
}

const pinIdOf = (entry: Entry): string => (entry.kind === 'assistant' ? entry.workId : entry.id)
const isPinned = ({ pinned }: Thread, entry: Entry): boolean => pinned.some(({ id }) => id === pinIdOf(entry))

const isWithdrawn = ({ withdrawn }: Thread, entry: Entry): boolean =>
  entry.kind !== 'summary' && withdrawn.includes(entry.workId)

/** Pixels of the separator above the first message of a day. */
const DAY = 30

/** When the message before an entry was sent; null if there is none. */
function sentBefore({ entries }: Thread, at: number): number | null {
  const before = entries.slice(0, at).findLast(entry => entry.kind === 'user')
  return before?.kind === 'user' ? arrivedAt(before.id, before.createdAt) : null
}

function makeRow(thread: Thread, at: number, actions: RowActions, t: Translate): Row {
  const entry = thread.entries[at] as Entry
  const before = thread.entries[at - 1]
  const idle = thread.running === null
  const withdrawn = isWithdrawn(thread, entry)
  switch (entry.kind) {
    case 'summary':
      return { key: entry.id, label: t('summary'), estimate: 60, body: <Summary content={entry.content} /> }
    case 'user': {
      const { id, content, attachments } = entry
      const sentAt = arrivedAt(id, entry.createdAt)
      const day = dayBegun(sentAt, sentBefore(thread, at), getLang(), t)
      const bubble = (
        <UserBubble
          id={id}
          sentAt={sentAt}
          content={content}
          attachments={attachments}
          branches={branchesAt(thread, at)}
          pinned={isPinned(thread, entry)}
          withdrawn={withdrawn}
          onPin={actions.onPin}
          onEdit={idle ? said => actions.onResendFrom(id, said) : null}
          onSwitchBranch={idle ? to => actions.onSwitchBranch(id, to) : null}
        />
      )
      const body = day ? (
        <>
          <DaySeparator day={day} />
          {bubble}
        </>
      ) : (
        bubble
      )
      return { key: id, label: t('you'), estimate: heightOfMessage(entry) + (day ? DAY : 0), body }
    }
    case 'assistant': {
      const running = entry.outcome.kind === 'running'
      return {
        key: entry.id,
        label: t('appName'),
        estimate: heightOfAnswer(entry),
        body: (
          <AnswerBubble
            entry={entry}
            activity={running ? thread.activity : null}
            since={before?.kind === 'user' ? before.createdAt : null}
            onContinue={idle && !withdrawn && at === thread.entries.length - 1 ? actions.onContinue : null}
            onRegenerate={
              idle && before?.kind === 'user' ? () => actions.onResendFrom(before.id, before) : null
            }
            pinned={isPinned(thread, entry)}
            onPin={actions.onPin}
            onBranch={idle ? () => actions.onBranch(entry.workId) : null}
            withdrawn={withdrawn}
            onWithdraw={idle && !withdrawn ? () => actions.onWithdraw(entry.workId) : null}
            onReapply={idle && withdrawn ? () => actions.onReapply(entry.workId) : null}
            onReview={actions.onReview}
            onUndo={actions.onUndo}
            onUndoAll={idle ? () => actions.onUndoAll(entry.workId) : null}
          />
        ),
      }
    }
  }
}

function Summary({ content }: { content: string }) {
  const t = useT()
  const [open, setOpen] = useFold('summary', false)
  return (
    <Disclosure
      open={open}
      onToggle={setOpen}
      className="rounded-lg border border-dashed text-[13px] text-fg-2"
      summaryClass="rounded-lg px-3 py-2 hover:bg-hover"
      summary={<span className="me-auto">{t('summary')}</span>}
    >
      <div className="px-3 pb-2.5">
        <Markdown text={content} />
      </div>
    </Disclosure>
  )
}
