import { useLocation } from 'wouter'
import { useApprovals, useModels, useRawMessages, useSessions, useStatus } from '@/api/queries'
import type { Chosen, When } from '@/api/types'
import type { PageProps } from '@/app/pages'
import { bind, choose, clearTaint, send, startSession, stop } from '@/app/threads'
import { useRun } from '@/app/useCommand'
import { onDemand } from '@/components/onDemand'
import { Pane } from '@/components/ui/Pane'
import { Pending } from '@/components/ui/Skeleton'
import { useAttaching } from '@/features/attach/useAttaching'
import { effective, withModel } from '@/features/model/choice'
import { ModelChoice } from '@/features/model/ModelChoice'
import { ModePicker } from '@/features/permission/ModePicker'
import { withMode } from '@/features/permission/modes'
import { ProjectPicker } from '@/features/project/ProjectPicker'
import { useT } from '@/lib/i18n'
import { draftFiles, setDraftFiles } from '@/stores/attachments'
import { useNewChoice } from '@/stores/choice'
import { NEW, setDraft, useDraft } from '@/stores/drafts'
import { isHeld, useConnection, useLive } from '@/stores/live'
import { useUi } from '@/stores/ui'
import { shownThread } from '@/thread/loaded'
import { blockedBy } from './blocked'
import { Chat, CITED } from './Chat'
import { ChatHeader } from './ChatHeader'
import { ConnectionBanner } from './ConnectionBanner'
import { StaleBanner } from './StaleBanner'
import { useFind } from './useFind'
import { useRowActions } from './useRowActions'
import { useTarget } from './useTarget'

const FindBar = onDemand(() => import('./FindBar'))
const RawView = onDemand(() => import('./RawView'), Pending)
const FirstModel = onDemand(() => import('@/features/model/FirstModel'))

const NOTHING: never[] = []
const NOTHING_CHOSEN: Chosen = {}

function clearDraft(key: string): void {
  setDraft(key, '')
  setDraftFiles(key, [])
}

export function ChatPane({ sessionId, message, input, width }: PageProps) {
  const t = useT()
  const run = useRun()
  const [, navigate] = useLocation()
  const view = useUi(ui => ui.view)
  const editing = useUi(ui => ui.editing)
  const loaded = useLive(s => (sessionId ? s.threads[sessionId] : undefined))
  const outbox = useLive(s => (sessionId ? s.outbox[sessionId] : undefined)) ?? NOTHING
  const connection = useConnection()
  const model = useStatus().data?.model
  const session = useSessions().data?.find(s => s.id === sessionId)
  const asked = useApprovals().data?.some(approval => approval.session_id === sessionId)
  const raw = useRawMessages(sessionId, view === 'raw')
  const draftKey = sessionId ?? NEW
  const draft = useDraft(draftKey)
  const thread = shownThread(loaded)
  const target = useTarget(sessionId, message, loaded)
  const find = useFind(thread)
  const attaching = useAttaching(sessionId, input)
  const onSend = async (text: string, when: When = 'next') => {
    const files = draftFiles(draftKey).map(({ name, extension, content, picture }) => ({
      ...{ name, extension, content },
      ...(picture ? { picture } : {}),
    }))
    if (sessionId) {
      clearDraft(draftKey)
      return send(sessionId, { content: text, attachments: files }, when)
    }
    const id = await startSession(text, files)
    if (id) {
      clearDraft(NEW)
      navigate(`/s/${id}`)
    }
  }
  const actions = useRowActions(sessionId)
  const models = useModels().data
  const fresh = useNewChoice(s => s.chosen)
  const chosen = sessionId === null ? fresh : (thread?.chosen ?? NOTHING_CHOSEN)
  const newProject = useNewChoice(s => s.projectId)
  const projectId = sessionId === null ? newProject : (thread?.projectId ?? null)
  const answers = models && effective(models, chosen)
  const noModel = !chosen.model && (model?.state === 'none' || model?.state === 'missing')
  const openModel = () => run('model')
  const onChoose = (chosen: Chosen) => void choose(sessionId, chosen)
  const blocked = blockedBy(
    {
      offline: connection === 'lost' && (sessionId === null || outbox.some(isHeld)),
      noModel,
      answers,
      pictures: attaching.pictures,
    },
    { connect: openModel, useDefault: () => models && onChoose(withModel(models, chosen, null)) },
    t,
  )
  const title =
    session?.title || thread?.title || session?.begins || (sessionId ? t('untitled') : t('newChat'))
  return (
    <Pane id="pane-chat" aria-labelledby="chat-title">
      <ChatHeader
        title={title}
        state={asked ? 'approval' : thread?.running ? 'running' : 'idle'}
        width={width}
      />
      <ConnectionBanner connection={connection} />
      <StaleBanner />
      {find.open && (
        <FindBar
          {...find}
          onClose={() => {
            find.onClose()
            input.current?.focus()
          }}
        />
      )}
      {view === 'raw' && sessionId ? (
        <RawView messages={raw.data?.messages} error={raw.error} />
      ) : (
        <Chat
          sessionId={sessionId}
          loaded={loaded}
          outbox={outbox}
          target={find.target ?? editing ?? target.row ?? (target.cited && CITED)}
          cited={target.cited}
          sought={find.target === null ? '' : find.query}
          actions={actions}
          input={input}
          draft={draft}
          attaching={attaching}
          onDraft={text => setDraft(draftKey, text)}
          onSend={onSend}
          asked={asked ?? false}
          onStop={() => sessionId && void stop(sessionId)}
          plan={chosen.permission_mode === 'plan'}
          onStartPlan={message => {
            onChoose(withMode(chosen, null))
            void onSend(message)
          }}
          onClearTaint={() => {
            if (sessionId) void clearTaint(sessionId)
            input.current?.focus()
          }}
          blocked={blocked}
          first={noModel && <FirstModel onDone={() => input.current?.focus()} />}
          model={
            model && (
              <>
                <ModelChoice
                  model={model}
                  models={models}
                  chosen={chosen}
                  onChoose={onChoose}
                  onConnect={openModel}
                />
                <ModePicker chosen={chosen} onChoose={onChoose} />
                <ProjectPicker
                  projectId={projectId}
                  onChoose={thread?.running ? null : id => void bind(sessionId, id)}
                />
              </>
            )
          }
        />
      )}
    </Pane>
  )
}
