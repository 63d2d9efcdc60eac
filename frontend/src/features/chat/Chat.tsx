import { type ReactNode, type RefObject, useMemo } from 'react'
import type { TokenCount } from '@/api/endpoints'
import { useJobs } from '@/api/queries'
import type { When } from '@/api/types'
import { DropZone } from '@/components/DropZone'
import { onDemand } from '@/components/onDemand'
import { Skeleton } from '@/components/ui/Skeleton'
import type { Attaching } from '@/features/attach/useAttaching'
import { useRequestSize } from '@/features/context/useRequestSize'
import { type Translate, useT } from '@/lib/i18n'
import { type Outgoing, waiting } from '@/stores/live'
import { useUi } from '@/stores/ui'
import { branchesAt } from '@/thread/branches'
import { type Loaded, shownThread } from '@/thread/loaded'
import type { Thread } from '@/thread/model'
import { entryOf } from '@/thread/places'
import { type Blocked, Composer } from './Composer'
import { EmptyState } from './EmptyState'
import { type RowActions, rowsOf } from './rows'
import { type Row, Transcript } from './Transcript'
import type { Cited } from './useTarget'

const LeftOutLine = onDemand(() => import('@/features/context/LeftOutLine'))
const NearlyFullNote = onDemand(() => import('@/features/context/NearlyFullNote'))
const TodoPanel = onDemand(() => import('@/features/project/TodoPanel'))
const RunningJobs = onDemand(() => import('@/features/jobs/RunningJobs'))
const Queue = onDemand(() => import('@/features/queue/Queue'))
const PlanNote = onDemand(() => import('@/features/permission/PlanNote'))
const TaintNote = onDemand(() => import('./TaintNote'))
const LeftOutNote = onDemand(() => import('@/features/context/LeftOutNote'))
const CitedMessages = onDemand(() => import('./CitedMessages'))

interface Props {
  /** Null for a chat that has no session yet. */
  sessionId: string | null
  loaded: Loaded | undefined
  outbox: Outgoing[]
  actions: RowActions
  /** The row to show and mark. */
  target: string | null
  /** A message that the conversation does not show. */
  cited: Cited | null
  /** The search words that led to that row, if any. */
  sought: string
  input: RefObject<HTMLTextAreaElement | null>
  draft: string
  attaching: Attaching
  onDraft: (text: string) => void
  onSend: (text: string, when?: When) => void
  /** Calls wait for approval. */
  asked: boolean
  onStop: () => void
  onClearTaint: () => void
  /** The conversation is set to plan. */
  plan: boolean
  onStartPlan: (message: string) => void
  blocked: Blocked | null
  model: ReactNode
  /** Shown in an empty chat: the setup that is missing before a model can answer. */
  first: ReactNode
}

/** The conversation and the composer. */
export function Chat(props: Props) {
  const {
    sessionId,
    loaded,
    outbox,
    actions,
    target,
    cited,
    sought,
    input,
    draft,
    attaching,
    onDraft,
    onSend,
    asked,
    onStop,
    onClearTaint,
    plan,
    onStartPlan,
    blocked,
    model,
    first,
  } = props
  const t = useT()
  const thread = shownThread(loaded)
  const running = thread?.running != null
  const last = thread?.entries.findLast(entry => entry.kind === 'user')
  const jobs = useJobs(sessionId).data?.filter(job => job.state === 'running') ?? []
  const size = useRequestSize(sessionId)
  // An answer that was made so is marked; the note is for the first time.
  const marked = thread?.entries.some(entry => entry.kind === 'assistant' && entry.leftOut > 0)
  return (
    <DropZone words={t('attachHere')} className="flex-1" onFiles={attaching.onFiles}>
      <Conversation
        {...{ sessionId, loaded, outbox, actions, target, cited, sought, first, size }}
        onPick={blocked === null ? onSend : onDraft}
      />
      {/* Above the other notes, which then stay where they are when the size arrives. */}
      {size && ((size.left_out > 0 && !marked) || size.pins_left_out > 0) && (
        <LeftOutNote count={marked ? 0 : size.left_out} pins={size.pins_left_out} />
      )}
      {sessionId && size?.nearly_full && size.left_out === 0 && size.auto_compact === 'ask' && (
        <NearlyFullNote sessionId={sessionId} size={size} />
      )}
      {thread && thread.taint.length > 0 && (
        <TaintNote sources={thread.taint} onClear={running ? null : onClearTaint} />
      )}
      {plan && !running && thread?.entries.at(-1)?.kind === 'assistant' && <PlanNote onStart={onStartPlan} />}
      {thread?.todo && (
        <TodoPanel key={thread.sessionId} list={thread.todo} onLeave={() => input.current?.focus()} />
      )}
      {sessionId && jobs.length > 0 && (
        <RunningJobs sessionId={sessionId} jobs={jobs} onLeave={() => input.current?.focus()} />
      )}
      {sessionId && thread && thread.queue.length > 0 && (
        <Queue
          sessionId={sessionId}
          queue={thread.queue}
          running={running}
          onLeave={() => input.current?.focus()}
        />
      )}
      <Composer
        input={input}
        text={draft}
        attaching={attaching}
        onText={onDraft}
        onSend={when => onSend(draft.trim(), when)}
        asked={asked}
        onEditLast={last && !running ? () => useUi.setState({ editing: last.id }) : null}
        onStop={running ? onStop : null}
        blocked={blocked}
      >
        {model}
      </Composer>
    </DropZone>
  )
}

/** Marks the place above which nothing is sent. */
function withLeftOut(rows: Row[], size: TokenCount | null, t: Translate): Row[] {
  if (!size?.first_sent) return rows
  const at = rows.findIndex(row => row.key === size.first_sent)
  if (at < 0) return rows
  const { left_out: count } = size
  const line = { key: 'left-out', label: t('context'), estimate: 44, body: <LeftOutLine count={count} /> }
  return [...rows.slice(0, at), line, ...rows.slice(at)]
}

/** Key of the row of a cited message that the conversation does not show. */
export const CITED = 'cited'

interface CitedIn {
  thread: Thread
  cited: Cited
  actions: RowActions
}

/** Puts a cited message below the summary that replaces it, or below the message that its branch follows. */
function withCited(rows: Row[], { thread, cited, actions }: CitedIn, t: Translate): Row[] {
  const { message, words } = cited
  const { branch } = message
  const above = branch ? branch.after && entryOf(thread, branch.after) : 'summary'
  const at = rows.findIndex(row => row.key === above) + 1
  const from = thread.entries.find((_, i) => branch && branchesAt(thread, i).includes(branch.message_id))
  const onSwitch =
    branch && from && thread.running === null
      ? () => actions.onSwitchBranch(from.id, branch.message_id)
      : null
  const body = <CitedMessages {...{ sessionId: thread.sessionId, cited: message, words, onSwitch }} />
  const row = { key: CITED, label: t('citedLabel'), estimate: 320, body }
  return [...rows.slice(0, at), row, ...rows.slice(at)]
}

type ConversationProps = Pick<
  Props,
  'sessionId' | 'loaded' | 'outbox' | 'actions' | 'target' | 'cited' | 'sought' | 'first'
> & {
  onPick: (text: string) => void
  size: TokenCount | null
}

function Conversation(props: ConversationProps) {
  const { sessionId, loaded, outbox, actions, target, cited, sought, first, size, onPick } = props
  const t = useT()
  const thread = shownThread(loaded)
  const outgoing = useMemo(() => waiting(outbox, thread), [outbox, thread])
  const all = useMemo(() => rowsOf(thread, outgoing, actions, t), [thread, outgoing, actions, t])
  const sent = useMemo(() => withLeftOut(all, size, t), [all, size, t])
  const rows = useMemo(
    () => (thread && cited ? withCited(sent, { thread, cited, actions }, t) : sent),
    [sent, thread, cited, actions, t],
  )
  if (rows.length > 0)
    return (
      <Transcript
        key={sessionId}
        rows={rows}
        sent={outbox.at(-1)?.key ?? null}
        target={target}
        sought={sought}
      />
    )
  if (loaded?.phase === 'failed') {
    const reason = loaded.code === 'not_found' ? t('chatGone') : t('loadFailed', { reason: loaded.reason })
    return (
      <p role="alert" className="m-auto max-w-[50ch] flex-1 content-center p-6 text-center text-fg-2">
        {reason}
      </p>
    )
  }
  if (sessionId !== null && loaded?.phase !== 'ready') {
    return (
      <div className="mx-auto w-full max-w-[760px] flex-1 p-4">
        <Skeleton label={t('loadingChat')} rows={5} />
      </div>
    )
  }
  return <EmptyState onPick={onPick} first={first} />
}
