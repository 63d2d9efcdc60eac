/**
 * Connects the event stream to the stores: frames go to the threads, notices to the cached reads and the open files.
 */
import { openEvents, type Stream } from '@/api/events'
import { putBound } from '@/api/projectQueries'
import {
  dropApproval,
  keys,
  patchIndex,
  patchModel,
  patchSession,
  patchStatus,
  putApproval,
  refresh,
  refreshEach,
} from '@/api/queries'
import type { Frame, IndexNotice, Notice } from '@/api/types'
import { diskChanged, folderChanged } from '@/features/editor/actions'
import { t } from '@/lib/i18n'
import { createsSkills, FileRef, ROOTS } from '@/lib/roots'
import { announce } from '@/stores/announcer'
import { type Connection, deliver, forgetSent, setConnection, useLive } from '@/stores/live'
import { forgetPlaces } from '@/stores/places'
import { toast } from '@/stores/toasts'
import { useUi } from '@/stores/ui'
import { type Envelope, isKnown } from '@/thread/advance'
import { isDelta } from '@/thread/deltas'
import { onFileChanged, onFolderChanged } from './diskChanges'
import { paced } from './pace'
import { bringBack, changed, loadThread, sendHeld } from './threads'

let stream: Stream | null = null
let bootId: string | null = null
let version: string | null = null
/** False while the stream has no id to resume from: data read before it opened may be stale. */
let anchored = false
let lost = false
let batch = new Map<string, Envelope[]>()

const arrived = paced(() => {
  const ready = batch
  batch = new Map()
  deliver(ready)
})

function enqueue(sessionId: string, envelope: Envelope): void {
  const list = batch.get(sessionId)
  if (list) list.push(envelope)
  else batch.set(sessionId, [envelope])
  arrived(isDelta(envelope.frame) ? 'text' : 'news')
}

function reloadThreads(which: (phase: string) => boolean): void {
  for (const [id, loaded] of Object.entries(useLive.getState().threads)) {
    if (which(loaded.phase)) void loadThread(id)
  }
}

function reloadEverything(): void {
  forgetPlaces()
  reloadThreads(() => true)
  const all = [
    keys.status,
    keys.models,
    keys.sessions,
    keys.projects,
    keys.approvals,
    keys.files,
    keys.skills,
    keys.tokens,
    keys.retrieval,
    keys.texts,
    keys.everyJob,
  ]
  for (const key of all) refresh(key)
}

/** Milliseconds. A run may write many files at once, and the list of changes compares all of them. */
const CHANGES_MS = 500
let changesAreDue = false

function refreshChangesSoon(): void {
  if (changesAreDue) return
  changesAreDue = true
  setTimeout(() => {
    changesAreDue = false
    refresh(keys.changes)
  }, CHANGES_MS)
}

/** Milliseconds. The server looks for the model after the index is ready, and sends no notice if there is none. */
const MODEL_MS = 2000

/**
 * Search results and chunks of a folder are stale as soon as one of its files changes, or when the index has caught
 * up. Nothing else invalidates them: a search itself may update the index, and must not be repeated because of that.
 */
function onIndex(notice: IndexNotice): void {
  const before = patchIndex(notice)
  const { state, done, total } = notice
  const news = before && (before.state !== state || before.done !== done || before.total !== total)
  if (state !== 'ready' || (before && !news)) return
  refresh(keys.index)
  setTimeout(() => refresh(keys.index), MODEL_MS)
  if (!before) return
  refresh(keys.searches(notice.folder))
  refresh(keys.chunks)
}

function onDisk({ path, etag, by }: Extract<Notice, { type: 'file_changed' }>): void {
  const file = FileRef.parse(path)
  if (file) void diskChanged(file, etag ?? null, by)
}

/** The reply to announce to screen readers, if the person wants that and the conversation is the open one. */
const replyToAnnounce = (sessionId: string, reply: string): string | null =>
  useUi.getState().aloud && location.pathname.split('/')[2] === encodeURIComponent(sessionId) && reply
    ? reply
    : null

/** Effects of a frame outside its own conversation. */
function sideEffects(sessionId: string, frame: Frame): void {
  switch (frame.type) {
    case 'user_message':
      patchSession(sessionId, { state: 'running' })
      refresh(keys.sessions)
      announce(t('statusGenerating'))
      break
    case 'tool_start':
      announce(t('statusTool', { tool: frame.tool }))
      break
    case 'approval_request':
      putApproval(frame)
      announce(t('approvalNeeded', { tool: frame.tool }))
      break
    case 'approval_result':
      dropApproval(frame.approval_id)
      if (frame.scope === 'always') refresh(keys.always)
      if (frame.decision === 'expired') announce(t('approvalExpired'))
      break
    case 'done':
    case 'error':
      patchSession(sessionId, { state: frame.type === 'error' ? 'error' : 'idle' })
      refresh(keys.sessions)
      refresh(keys.sessionTokens(sessionId))
      refresh(keys.raw(sessionId))
      refresh(keys.changesOf(sessionId))
      if (frame.type === 'error') announce(t('statusError'), true)
      else announce(replyToAnnounce(sessionId, frame.content) ?? t('statusComplete'))
      break
    case 'branched':
      forgetSent(sessionId)
      void changed(sessionId)
      break
    case 'compressed':
      if (frame.automatic) {
        const { archived_count: n, archive } = frame
        toast(t('compacted', { n }), {
          action: { label: t('undo'), run: () => void bringBack(sessionId, archive) },
        })
      }
      void changed(sessionId)
      break
    case 'restored':
      void changed(sessionId)
      break
    case 'withdrawn':
      refresh(keys.changesOf(sessionId))
      // The to-do list may go with the work, and come back with it.
      void changed(sessionId)
      announce(t(frame.withdrawn ? 'withdrawn' : 'reapplied'))
      break
    case 'undone':
      refresh(keys.changesOf(sessionId))
      break
    case 'bound':
      putBound(sessionId, frame.project_id ?? null)
      // Other tools and another system prompt have a different size.
      refresh(keys.sessionTokens(sessionId))
      break
    case 'chosen':
      // Another model has a different context window.
      refresh(keys.sessionTokens(sessionId))
      break
    case 'title':
      patchSession(sessionId, { title: frame.title })
      break
    default:
  }
}

function onNotice(notice: Notice, id: string | null): void {
  handle(notice, id)
  anchored ||= id !== null
}

function handle(notice: Notice, id: string | null): void {
  switch (notice.type) {
    case 'hello':
      if (bootId !== null && bootId !== notice.boot_id) reloadEverything()
      else if (!anchored) reloadThreads(() => true)
      bootId = notice.boot_id
      if (version !== null && version !== notice.version) useUi.setState({ stale: true })
      version = notice.version
      break
    case 'frame':
      if (!isKnown(notice.frame)) useUi.setState({ stale: true })
      enqueue(notice.session_id, { id, frame: notice.frame })
      sideEffects(notice.session_id, notice.frame)
      break
    case 'sessions_changed':
      refresh(keys.sessions)
      break
    case 'file_changed':
      onFileChanged(notice.path)
      refreshChangesSoon()
      onDisk(notice)
      break
    case 'folder_changed':
      onFolderChanged()
      refreshChangesSoon()
      void folderChanged(notice.path)
      break
    case 'jobs_changed':
      refresh(keys.jobs(notice.session_id))
      break
    case 'skills_changed':
      refresh(keys.skills)
      refreshEach(ROOTS.filter(createsSkills).map(keys.root))
      break
    case 'projects_changed':
      refresh(keys.projects)
      break
    case 'model_changed':
      patchModel(notice)
      refresh(keys.models)
      break
    case 'config_changed':
      patchStatus(status => ({
        ...status,
        rag_mode: notice.rag_mode,
        rag_conversations: notice.rag_conversations,
      }))
      break
    case 'index':
      onIndex(notice)
      break
    case 'gap':
      reloadEverything()
      break
    default:
      notice satisfies never
  }
}

function onState(state: Connection, retryAt: number | null): void {
  setConnection(state, retryAt)
  if (state === 'open') sendHeld()
  // The server does not replay notices, so everything they would have reported in the meantime is read again.
  if (state === 'open' && lost) {
    const all = [
      ...[keys.status, keys.sessions, keys.projects, keys.approvals, keys.files, keys.retrieval],
      keys.everyJob,
    ]
    all.forEach(refresh)
    reloadThreads(phase => phase === 'failed')
  }
  lost = state === 'lost' || (lost && state !== 'open')
}

/** The status request reveals why the stream was refused: a 401 shows the sign-in. */
const onRefused = (): void => refresh(keys.status)

export function connectEvents(after: string | null): void {
  stream?.close()
  anchored = after !== null
  stream = openEvents(after, { onNotice, onRefused, onState })
}

export const reconnect = (): void => stream?.reconnect()

/** Until the next `reconnect`: the browser has the session of another person, whose events must not reach this page. */
export const disconnect = (): void => stream?.close()
