/** A person's actions on conversations. */
import { ApiError, hasCode } from '@/api/client'
import * as api from '@/api/endpoints'
import { putBound } from '@/api/projectQueries'
import { editSessions, keys, patchList, patchSession, queryClient, refresh } from '@/api/queries'
import { signedIn } from '@/api/signedOut'
import type { Chosen, SessionList, When } from '@/api/types'
import { t } from '@/lib/i18n'
import { randomId } from '@/lib/ids'
import { reasonOf } from '@/lib/reason'
import { announce } from '@/stores/announcer'
import { setDraftFiles } from '@/stores/attachments'
import { freshChoice, useNewChoice } from '@/stores/choice'
import { editOutbox, isHeld, type Outgoing, updateThread, useLive } from '@/stores/live'
import { toast } from '@/stores/toasts'
import { settle, settleEarlier, shownThread, startLoading, withChosen, withProject } from '@/thread/loaded'
import type { Attachment } from '@/thread/model'
import { firstMessageOf, messagesIn } from '@/thread/places'

/**
 * Maximum number of conversations kept in memory. The least recently used is evicted first, but never a running one.
 */
const KEPT = 12
const recent: string[] = []

function remember(id: string): void {
  const at = recent.indexOf(id)
  if (at >= 0) recent.splice(at, 1)
  recent.unshift(id)
  const { threads } = useLive.getState()
  for (const old of recent.slice(KEPT)) {
    if (shownThread(threads[old])?.running) continue
    recent.splice(recent.indexOf(old), 1)
    updateThread(old, () => undefined)
  }
}

/** Number of messages that are loaded first. The others follow when they are wanted. */
const FIRST_PAGE = 200

/** The load of each conversation that was begun last; an earlier one may be answered later, with an older history. */
const newestLoad = new Map<string, symbol>()

/** Reads the newest part of the history, and all that is shown; resolves to the id of the last event it contains. */
export async function loadThread(id: string): Promise<string | null> {
  remember(id)
  const load = Symbol(id)
  newestLoad.set(id, load)
  const shown = shownThread(useLive.getState().threads[id])
  updateThread(id, startLoading)
  const outbox = useLive.getState().outbox[id] ?? []
  try {
    const from = (shown && firstMessageOf(shown)) ?? undefined
    const history = await api.getHistory(id, { last: FIRST_PAGE, from })
    if (newestLoad.get(id) !== load) return history.last_event_id
    updateThread(id, loaded => settle(loaded, history))
    // The history knows what was accepted before it was requested, even if a summary has replaced it.
    const known = outbox.flatMap(item => (item.state.kind === 'accepted' ? [item.key] : []))
    if (known.length > 0) editOutbox(id, list => list.filter(item => !known.includes(item.key)))
    return history.last_event_id
  } catch (error) {
    if (newestLoad.get(id) !== load) return null
    const code = error instanceof ApiError ? error.code : 'error'
    updateThread(id, loaded => ({
      phase: 'failed',
      reason: reasonOf(error),
      code,
      shown: shownThread(loaded),
    }))
    return null
  }
}

/** The page that is being loaded, by session: one at a time, so that none is thrown away. */
const pages = new Map<string, Promise<void>>()

/**
 * Loads messages before those that are shown: a page of as many again, or all. Resolves to false if there were
 * none.
 */
export async function loadEarlier(id: string, part: 'page' | 'all'): Promise<boolean> {
  let waited = false
  while (pages.has(id)) {
    waited = true
    await pages.get(id)
  }
  const loaded = useLive.getState().threads[id]
  if (loaded?.phase !== 'ready' || !loaded.thread.earlier) return waited
  const { before } = loaded.thread.earlier
  const last = part === 'all' ? undefined : Math.max(FIRST_PAGE, messagesIn(loaded.thread))
  const page = api.getHistory(id, { before, last }).then(
    history => updateThread(id, loaded => loaded && settleEarlier(loaded, history, before)),
    async error => {
      // The first message is gone: the conversation was compacted meanwhile.
      if (hasCode(error, 'not_found')) await loadThread(id)
      else toast(t('loadFailed', { reason: reasonOf(error) }), { tone: 'bad' })
    },
  )
  pages.set(id, page)
  await page.finally(() => pages.delete(id))
  return true
}

export function ensureThread(id: string): void {
  const loaded = useLive.getState().threads[id]
  if (!loaded || loaded.phase === 'failed') void loadThread(id)
  else remember(id)
}

const mark = (session: string, key: string, state: Outgoing['state']): void =>
  editOutbox(session, list => list.map(item => (item.key === key ? { ...item, state } : item)))

/** Pending choices by session: a message sent right after a choice waits for it. */
const choosing = new Map<string, Promise<boolean>>()

const onWire = ({ name, extension, content, picture }: Attachment): api.SentFile => {
  if (!picture) return { name, extension, content }
  const { kept } = picture
  return { name, content: kept?.hash ?? content, encoding: kept ? 'kept' : 'base64' }
}

async function post(session: string, { key, content, attachments, when }: Outgoing): Promise<void> {
  try {
    if ((await choosing.get(session)) === false) throw new Error(t('choiceNotSaved'))
    const accepted = await api.sendMessage(session, {
      message: content,
      attachments: attachments.map(onWire),
      idempotency_key: key,
      when,
    })
    mark(session, key, { kind: 'accepted', workId: accepted.work_id })
  } catch (error) {
    mark(session, key, { kind: 'failed', reason: reasonOf(error) })
  }
}

/** Sends a message: after the run under way, or `now`, which interrupts it. */
export function send(session: string, { content, attachments }: NewMessage, when: When = 'next'): void {
  const { connection, outbox } = useLive.getState()
  const lost = connection === 'lost'
  // One message is kept while offline.
  if (lost && outbox[session]?.some(isHeld)) {
    toast(t('cannotSendOffline'), { tone: 'bad' })
    return
  }
  const item: Outgoing = {
    key: randomId(),
    content,
    attachments,
    when,
    state: { kind: lost ? 'held' : 'sending' },
  }
  editOutbox(session, list => [...list.filter(other => other.state.kind !== 'accepted'), item])
  ensureThread(session)
  if (lost) announce(t('held'))
  else void post(session, item)
}

/** Sends the messages that were held while the server was unreachable. */
export function sendHeld(): void {
  for (const [session, list] of Object.entries(useLive.getState().outbox))
    for (const item of list.filter(isHeld)) resend(session, item)
}

/**
 * Sends again with the same key: if the first attempt did arrive, the server recognizes the key and runs the work
 * only once.
 */
export function resend(session: string, item: Outgoing): void {
  mark(session, item.key, { kind: 'sending' })
  void post(session, item)
}

export const discard = (session: string, key: string): void =>
  editOutbox(session, list => list.filter(item => item.key !== key))

/** Creates a session for the first message of a new chat; returns null if the server cannot. */
export async function startSession(
  content: string,
  attachments: readonly Attachment[],
): Promise<string | null> {
  try {
    const { chosen, projectId } = useNewChoice.getState()
    const session = await api.createSession(projectId)
    editSessions(list => [session, ...list.filter(other => other.id !== session.id)])
    useNewChoice.setState(freshChoice())
    putBound(session.id, projectId)
    if (Object.keys(chosen).length > 0) void choose(session.id, chosen)
    send(session.id, { content, attachments })
    return session.id
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
    return null
  }
}

/**
 * Chooses the model from the next message on. Without a session, the choice is for the one that the next message
 * creates.
 */
export async function choose(session: string | null, chosen: Chosen): Promise<void> {
  if (session === null) return useNewChoice.setState({ chosen })
  const done = await beforeSending(session, () => api.chooseModel(session, chosen))
  if (done) updateThread(session, loaded => loaded && withChosen(loaded, chosen))
  else refresh(keys.models)
}

/**
 * Binds a conversation to a project, whose folder its tools work in, or to none. Without a session, it concerns the one
 * that the next message creates.
 */
export async function bind(session: string | null, projectId: string | null): Promise<void> {
  if (session === null) return useNewChoice.setState({ projectId })
  const done = await beforeSending(session, () => api.bindSession(session, projectId))
  if (done) updateThread(session, loaded => loaded && withProject(loaded, projectId))
}

/** Makes a choice that the next message needs. If it or one before it fails, the message is not sent. */
const beforeSending = (session: string, change: () => Promise<unknown>): Promise<boolean> =>
  holdMessages(session, attempt(change))

/** Messages are sent after this choice, and not at all if it resolves to false. Returns it. */
export async function holdMessages(session: string, own: Promise<boolean>): Promise<boolean> {
  const earlier = choosing.get(session)
  const all = earlier ? Promise.all([earlier, own]).then(done => done.every(Boolean)) : own
  choosing.set(session, all)
  await all
  if (choosing.get(session) === all) choosing.delete(session)
  return own
}

/** The change of labels under way: the next one is sent after it, so that the last one stays. */
let labelling: Promise<unknown> = Promise.resolve()

/** Gives a conversation these labels, which show at once; resolves to null on success, else to the reason. */
export async function setLabels(session: string, labels: readonly string[]): Promise<string | null> {
  const known = queryClient.getQueryData<SessionList>(keys.sessions)
  patchList({ labels: { ...known?.labels, [session]: [...labels] } })
  const before = labelling
  const change = (async () => {
    await before
    try {
      await api.labelSession(session, labels)
      return null
    } catch (error) {
      return reasonOf(error)
    }
  })()
  labelling = change
  const problem = await change
  if (labelling === change) refresh(keys.sessions)
  return problem
}

/** Pins a message, or an answer by the id of its work, so that every request contains it; or unpins it. */
export async function setPinned(session: string, message: string, pinned: boolean): Promise<void> {
  const change = () => (pinned ? api.pinMessage(session, message) : api.unpinMessage(session, message))
  if (!(await attempt(change))) return
  announce(t(pinned ? 'messagePinned' : 'messageUnpinned'))
  refresh(keys.tokens)
}

/** Clears the taint of a conversation: text from outside that it has read so far does not count. */
export async function clearTaint(session: string): Promise<void> {
  if (await attempt(() => api.clearTaint(session))) announce(t('taintCleared'))
}

/** Continues the last answer, which is not complete, or requests it again if it failed. */
export async function continueAnswer(session: string, beyondOwnLimit: boolean): Promise<void> {
  await attempt(() => api.continueAnswer(session, beyondOwnLimit))
}

export async function stop(session: string): Promise<void> {
  await attempt(() => api.interrupt(session))
}

export async function rename(session: string, title: string): Promise<void> {
  patchSession(session, { title })
  await attempt(() => api.renameSession(session, title))
  refresh(keys.sessions)
}

export async function restore(session: string, title: string): Promise<void> {
  await attempt(async () => {
    await api.restoreSession(session)
    toast(t('restored', { title }))
  })
  refresh(keys.sessions)
  refresh(keys.deleted)
}

export async function pin(session: string, on: boolean): Promise<void> {
  await attempt(async () => {
    patchList(await (on ? api.pinSession(session) : api.unpinSession(session)))
  })
}

/** Archives or unarchives a session. */
export async function archive(session: string, title: string, archived: boolean): Promise<void> {
  await attempt(async () => {
    patchList(await (archived ? api.archiveSession(session) : api.unarchiveSession(session)))
    const undo = () => void archive(session, title, !archived)
    toast(t(archived ? 'archivedOne' : 'unarchivedOne', { title }), {
      action: { label: t('undo'), run: undo },
    })
  })
}

/** Removes everything of a deleted session from this tab. */
export function drop(session: string): void {
  editSessions(list => list.filter(other => other.id !== session))
  setDraftFiles(session, [])
  updateThread(session, () => undefined)
}

export async function remove(session: string, title: string): Promise<boolean> {
  const done = await attempt(() => api.deleteSession(session))
  if (done) {
    drop(session)
    toast(t('deleted', { title }), {
      action: { label: t('undo'), run: () => void restore(session, title) },
    })
  }
  refresh(keys.sessions)
  return done
}

/** Replaces messages with the accepted summary. Returns null on success, else the reason. */
export async function acceptSummary(
  session: string,
  accepted: { hash: string; summary: string },
): Promise<string | null> {
  try {
    const { archived_count: n, archive: file } = await api.compress(session, accepted)
    const undo = file && { label: t('undo'), run: () => void bringBack(session, file) }
    toast(t('compacted', { n }), undo ? { action: undo } : {})
    await changed(session)
    return null
  } catch (error) {
    return hasCode(error, 'changed_since') ? t('compressChanged') : t('notDone', { reason: reasonOf(error) })
  }
}

/** Puts compacted messages back in their place. */
export async function bringBack(session: string, file: string): Promise<void> {
  await attempt(async () => {
    const { restored_count: n } = await api.restoreCompacted(session, file)
    toast(t('broughtBack', { n }))
  })
  await changed(session)
}

/** Reloads everything that depends on the history after it was replaced. */
export async function changed(session: string): Promise<void> {
  for (const key of [keys.sessionTokens(session), keys.raw(session), keys.compacted(session)]) refresh(key)
  await loadThread(session)
}

export async function switchRag(enabled: boolean): Promise<void> {
  await attempt(() => api.setRagMode(enabled))
  refresh(keys.status)
}

/** What a person sends. */
export interface NewMessage {
  content: string
  attachments: readonly Attachment[]
}

/** Asks again from a message on, or asks something else there. What followed is moved to a branch. */
export async function resendFrom(session: string, message: string, said: NewMessage): Promise<void> {
  if (!(await attempt(() => api.rewind(session, message, null)))) return
  await loadThread(session)
  send(session, said, 'now')
}

/** Switches to another branch of the conversation at a message. */
export async function switchBranch(session: string, message: string, to: string): Promise<void> {
  await attempt(() => api.rewind(session, message, to))
  await loadThread(session)
}

/** Creates a session with the history up to the end of a work. Returns its id, or null on failure. */
export async function branchOff(session: string, workId: string): Promise<string | null> {
  let id: string | null = null
  await attempt(async () => {
    const { messages } = await api.getHistory(session)
    const last = messages.findLast(message => message.work_id === workId)
    const made = await api.branchSession(session, last?.id ?? '', 'after')
    id = made.id
    toast(t('branched'))
  })
  refresh(keys.sessions)
  return id
}

/** Undoes a file change, or redoes it; the stream reports the result. */
export async function undo(session: string, call: string): Promise<void> {
  await attempt(() => api.undoChange(session, call))
}

/**
 * Undoes these changes, newest first. Stops at the first that cannot be undone, so that later edits are kept, and returns
 * its call; null if all are undone.
 */
export async function undoAll(session: string, calls: readonly string[]): Promise<string | null> {
  const done: string[] = []
  await attempt(async () => {
    for (const call of calls.toReversed()) {
      await api.undoChange(session, call)
      done.unshift(call)
    }
  })
  const redo = () =>
    attempt(async () => {
      for (const call of done) await api.undoChange(session, call)
    })
  if (done.length > 0)
    toast(t('workUndone', { n: done.length }), { action: { label: t('redo'), run: () => void redo() } })
  return calls[calls.length - done.length - 1] ?? null
}

/** Returns null on success, else the reason. */
export async function signIn(token: string): Promise<string | null> {
  try {
    await api.signIn(token)
  } catch (error) {
    return reasonOf(error)
  }
  await resume()
  return null
}

/** Continues after the person of this page has signed in again. */
export async function resume(): Promise<void> {
  signedIn()
  await queryClient.invalidateQueries()
  for (const id of Object.keys(useLive.getState().threads)) void loadThread(id)
}

/** Returns false, and says why, if the action fails. */
export async function attempt(run: () => Promise<unknown>): Promise<boolean> {
  try {
    await run()
    return true
  } catch (error) {
    toast(t('notDone', { reason: reasonOf(error) }), { tone: 'bad' })
    return false
  }
}
