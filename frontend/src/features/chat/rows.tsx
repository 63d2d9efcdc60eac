import { Markdown } from '@/components/markdown/Markdown'
import { Disclosure } from '@/components/ui/Disclosure'
import type { Translate } from '@/lib/i18n'
import { useT } from '@/lib/i18n'
import { useFold } from '@/stores/folds'
import type { Outgoing } from '@/stores/live'
import type { Entry, Thread } from '@/thread/model'
import { AnswerBubble } from './AnswerBubble'
import type { Change } from './changes'
import { OutgoingBubble } from './OutgoingBubble'
import type { Row } from './Transcript'
import { UserBubble } from './UserBubble'

export interface RowActions {
  onRetry: (workId: string) => void
  onUndo: (change: Change) => void
  onResend: (item: Outgoing) => void
  onDiscard: (key: string) => void
}

/** The rows of the transcript: what the thread says, then what is still on its way to the server. */
export function rowsOf(
  thread: Thread | null,
  outgoing: Outgoing[],
  actions: RowActions,
  t: Translate,
): Row[] {
  const entries = thread?.entries ?? []
  return [
    ...entries.map((entry, i) => entryRow(thread, entry, entries[i - 1], actions, t)),
    ...outgoing.map(item => ({
      key: item.key,
      label: t('you'),
      estimate: 80,
      body: <OutgoingBubble item={item} onResend={actions.onResend} onDiscard={actions.onDiscard} />,
    })),
  ]
}

function entryRow(
  thread: Thread | null,
  entry: Entry,
  before: Entry | undefined,
  actions: RowActions,
  t: Translate,
): Row {
  switch (entry.kind) {
    case 'summary':
      return { key: entry.id, label: t('summary'), estimate: 60, body: <Summary content={entry.content} /> }
    case 'user':
      return { key: entry.id, label: t('you'), estimate: 80, body: <UserBubble content={entry.content} /> }
    case 'assistant': {
      const running = entry.outcome.kind === 'running'
      return {
        key: entry.id,
        label: t('appName'),
        estimate: 240,
        body: (
          <AnswerBubble
            entry={entry}
            activity={running ? (thread?.activity ?? null) : null}
            since={before?.kind === 'user' ? before.createdAt : null}
            onRetry={thread?.running ? null : actions.onRetry}
            onUndo={actions.onUndo}
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
