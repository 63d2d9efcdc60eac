/**
 * One function per endpoint. A response cast with `as` contains pairs of numbers, which the generated types declare
 * as arrays.
 */
import { fileNameIn } from '@/lib/download'
import type { Root, SearchFolder } from '@/lib/roots'
import type { Answer } from './approvals'
import { api, asPage, dataOf } from './client'
import type { components, paths } from './schema'
import type {
  Approval,
  Chosen,
  FileChunks,
  PersonLimits,
  Report,
  RetrievalTests,
  Search,
  SentDetail,
  TokenStats,
  VersionSide,
} from './types'

type Schemas = components['schemas']

/** The path parameters of a session's endpoint. */
const of = (id: string) => ({ path: { id } })
const query = <Q>(query: Q) => ({ params: { query } })

export const signIn = (token: string) => dataOf(api.POST('/api/login', { body: { token } }))
export const signInByCode = (code: string) => dataOf(api.POST('/api/login', { body: { code } }))
export const postLogout = () => dataOf(api.POST('/api/logout'))

export const getStatus = () => dataOf(api.GET('/api/status'))
export const getCluster = () => dataOf(api.GET('/api/cluster'))

/** Periods of the browser's time zone. */
const periods = (period: TokenStats['period']) =>
  ({ period, by: 'project', offset_minutes: -new Date().getTimezoneOffset() }) as const
/** Usage by period, model and project. */
export const getUsage = (period: TokenStats['period']) =>
  dataOf(api.GET('/api/stats/tokens', query(periods(period)))).then(answer => answer.data)
/** Sets the limits at which the person is asked; null takes them away. */
export const setOwnLimits = (limits: PersonLimits | null) =>
  dataOf(api.PUT('/api/stats/limits', { body: { limits } }))
export async function exportUsage(period: TokenStats['period']) {
  const call = api.GET('/api/stats/tokens.csv', { ...query(periods(period)), parseAs: 'blob' })
  const content = await dataOf(call)
  const name = fileNameIn((await call).response.headers.get('Content-Disposition'))
  return { name: name ?? `tokens-${period}.csv`, content }
}

/** The field of a request that has a key; none for an empty one. */
export const keyOf = (api_key: string) => (api_key.trim() === '' ? {} : { api_key })
/** Tests an address and a key with the provider; returns the models it offers. */
export const checkAddress = (base_url: string, api_key: string, form: string | null) =>
  asPage(header =>
    api.POST('/api/providers/check', {
      params: { header },
      body: { base_url, ...keyOf(api_key), ...(form && { api: form }) },
    }),
  ).then(r => r.models)
export const listProviders = () => dataOf(api.GET('/api/providers'))
/** Adds a provider; `default_model` is the name of its model that becomes the default. */
export const addProvider = (body: Schemas['ProviderToAdd']) =>
  asPage(header => api.POST('/api/providers', { params: { header }, body }))
export const changeProvider = (id: string, body: Schemas['ProviderPatch']) =>
  asPage(header => api.PATCH('/api/providers/{id}', { params: { header, ...of(id) }, body }))
export const removeProvider = (id: string) =>
  asPage(header => api.DELETE('/api/providers/{id}', { params: { header, ...of(id) } }))
export const checkProvider = (id: string) =>
  asPage(header => api.POST('/api/providers/{id}/check', { params: { header, ...of(id) } }))
/** Searches for model servers on the server's machine again. */
export const findProviders = () => asPage(header => api.POST('/api/providers/find', { params: { header } }))
export const changeModel = (id: string, body: Schemas['ModelPatch']) =>
  asPage(header => api.PATCH('/api/models/{id}', { params: { header, ...of(id) }, body }))
/** The id of a model, or null for none. */
export const setDefaultModel = (model: string | null) =>
  asPage(header => api.PUT('/api/models/default', { params: { header }, body: { model } }))
export const setFallbackModel = (model: string | null) =>
  asPage(header => api.PUT('/api/models/fallback', { params: { header }, body: { model } }))

export const getSettings = () => dataOf(api.GET('/api/settings'))
export const changeSettings = (body: Schemas['SettingsPatch']) =>
  asPage(header => api.PATCH('/api/settings', { params: { header }, body }))

export const listSessions = () => dataOf(api.GET('/api/sessions'))
export const searchSessions = (words: string) => dataOf(api.GET('/api/sessions/search', query({ q: words })))
const message = (id: string, message_id: string) => ({ params: { path: { id, message_id } } })
export const pinMessage = (id: string, of: string) =>
  dataOf(api.PUT('/api/sessions/{id}/messages/{message_id}/pin', message(id, of)))
export const unpinMessage = (id: string, of: string) =>
  dataOf(api.DELETE('/api/sessions/{id}/messages/{message_id}/pin', message(id, of)))

export const labelSession = (id: string, labels: readonly string[]) =>
  dataOf(api.PUT('/api/sessions/{id}/labels', { params: of(id), body: { labels: [...labels] } }))
export const pinSession = (id: string) => dataOf(api.PUT('/api/sessions/{id}/pin', { params: of(id) }))
export const unpinSession = (id: string) => dataOf(api.DELETE('/api/sessions/{id}/pin', { params: of(id) }))
/** Archives a session: removes it from the list without deleting it. */
export const archiveSession = (id: string) =>
  dataOf(api.PUT('/api/sessions/{id}/archived', { params: of(id) }))
export const unarchiveSession = (id: string) =>
  dataOf(api.DELETE('/api/sessions/{id}/archived', { params: of(id) }))
/** Excludes a session from recall: no search of the agent in conversations finds it. */
export const excludeFromRecall = (id: string) =>
  dataOf(api.PUT('/api/sessions/{id}/not-for-recall', { params: of(id) }))
export const includeInRecall = (id: string) =>
  asPage(header => api.DELETE('/api/sessions/{id}/not-for-recall', { params: { header, ...of(id) } }))
/** A message with what was said around it, also one that a summary replaces or that is on another branch. */
export const readCited = (id: string, of: string) =>
  dataOf(api.GET('/api/sessions/{id}/messages/{message_id}', message(id, of)))
export const listCompacted = (id: string) =>
  dataOf(api.GET('/api/sessions/{id}/compacted', { params: of(id) })).then(r => r.compacted)
export const readCompacted = (id: string, name: string) =>
  dataOf(api.GET('/api/sessions/{id}/compacted/{name}', { params: { path: { id, name } } })).then(
    r => r.messages,
  )
/** Puts compacted messages back into the conversation. */
export const restoreCompacted = (id: string, name: string) =>
  dataOf(api.POST('/api/sessions/{id}/compacted/{name}/restore', { params: { path: { id, name } } }))
export const listDeleted = () => dataOf(api.GET('/api/sessions/deleted')).then(r => r.sessions)
export const forgetSession = (id: string) =>
  dataOf(api.DELETE('/api/sessions/deleted/{id}', { params: of(id) }))
export const listTrash = () => dataOf(api.GET('/api/files/deleted'))
export const forgetFile = (trash: string) => dataOf(api.DELETE('/api/files/deleted', query({ trash })))
export const importSession = (file: unknown) => dataOf(api.POST('/api/sessions/import', { body: file }))
/** A session as a file. */
export async function exportSession(id: string, format: 'md' | 'json') {
  const params = { ...of(id), query: { format } }
  const call = api.GET('/api/sessions/{id}/export', { params, parseAs: 'blob' })
  const content = await dataOf(call)
  const name = fileNameIn((await call).response.headers.get('Content-Disposition'))
  return { name: name ?? `${id}.${format}`, content }
}
export const branchSession = (id: string, message_id: string, cut: 'before' | 'after') =>
  dataOf(api.POST('/api/sessions/{id}/branch', { params: of(id), body: { message_id, cut } }))
export const createSession = (project_id: string | null) =>
  dataOf(api.POST('/api/sessions', { body: project_id === null ? {} : { project_id } }))
export const bindSession = (id: string, project_id: string | null) =>
  dataOf(api.PUT('/api/sessions/{id}/project', { params: of(id), body: { project_id } }))
export const renameSession = (id: string, title: string) =>
  dataOf(api.PUT('/api/sessions/{id}', { params: of(id), body: { title } }))
export const deleteSession = (id: string) => dataOf(api.DELETE('/api/sessions/{id}', { params: of(id) }))
export const restoreSession = (id: string) =>
  dataOf(api.POST('/api/sessions/{id}/restore', { params: of(id) }))

/** Which messages of a history are wanted; all of them without any of these. */
export type HistoryPage = NonNullable<paths['/api/sessions/{id}/history']['get']['parameters']['query']>

export const getHistory = (id: string, query: HistoryPage = {}) =>
  dataOf(api.GET('/api/sessions/{id}/history', { params: { ...of(id), query } }))
export const getMessages = (id: string) => dataOf(api.GET('/api/sessions/{id}/messages', { params: of(id) }))

/** A file in a request: a text, the bytes of a picture, or the hash of a picture that the session already has. */
export type SentFile = Schemas['Attached']
/** The key is in the header, too: a server that passes the message on to another one does not read the body. */
export const sendMessage = (id: string, body: Schemas['MessageRequest']) => {
  const header = { 'Idempotency-Key': body.idempotency_key }
  return dataOf(api.POST('/api/sessions/{id}/messages', { params: { ...of(id), header }, body }))
}
/** Counts the tokens that a file would add to a message; also returns the name it would get. */
export const countAttachment = (file: SentFile) => dataOf(api.POST('/api/tokens/attachment', { body: file }))
/** Moves a message and all that follow to a branch, and restores the branch that begins with `to`, if given. */
export const rewind = (id: string, message_id: string, to: string | null) =>
  dataOf(api.POST('/api/sessions/{id}/rewind', { params: of(id), body: { message_id, to } }))
export const listModels = () => dataOf(api.GET('/api/models'))
/** Chooses the model from the next message on. */
/** A person has confirmed `sandboxed` before it is chosen. */
export const chooseModel = (id: string, chosen: Chosen) => {
  const body = { ...chosen, confirm_loosening: chosen.permission_mode === 'sandboxed' }
  return asPage(header => api.PUT('/api/sessions/{id}/model', { params: { header, ...of(id) }, body }))
}
/** `beyond_own_limit`: the person's own limit of usage does not stop the answer again. */
export const continueAnswer = (id: string, beyond_own_limit: boolean) =>
  dataOf(api.POST('/api/sessions/{id}/continue', { params: { ...of(id), query: { beyond_own_limit } } }))

const queued = (id: string, message_id: string) => ({ params: { path: { id, message_id } } })
export const editQueued = (id: string, message: string, text: string) =>
  dataOf(
    api.PUT('/api/sessions/{id}/queue/{message_id}', { ...queued(id, message), body: { message: text } }),
  )
export const removeQueued = (id: string, message: string) =>
  dataOf(api.DELETE('/api/sessions/{id}/queue/{message_id}', queued(id, message)))
export const sendQueued = (id: string, message: string) =>
  dataOf(api.POST('/api/sessions/{id}/queue/{message_id}/send', queued(id, message)))

export const interrupt = (id: string) => dataOf(api.POST('/api/sessions/{id}/interrupt', { params: of(id) }))
/** The commands in the background of a session, oldest first. */
export const listJobs = (id: string) => dataOf(api.GET('/api/sessions/{id}/jobs', { params: of(id) }))
/** Stops a command and waits for its end. */
export const stopJob = (id: string, job: string) =>
  dataOf(api.POST('/api/sessions/{id}/jobs/{job}/stop', { params: { path: { id, job } } }))
export const getCompressionPlan = (id: string, signal: AbortSignal) =>
  dataOf(api.GET('/api/sessions/{id}/compress', { params: of(id), signal }))
export const proposeSummary = (id: string, hash: string, signal: AbortSignal) =>
  dataOf(api.POST('/api/sessions/{id}/compress/preview', { params: of(id), body: { hash }, signal }))
export const compress = (id: string, accepted: { hash: string; summary: string }) =>
  dataOf(api.POST('/api/sessions/{id}/compress', { params: of(id), body: accepted }))

export const listApprovals = () => dataOf(api.GET('/api/approvals')).then(r => r.approvals)
/** `hash` identifies what the person was shown: the answer does not count for a call that has changed since. */
export const answerApproval = ({ id, hash }: Approval, answer: Answer) =>
  asPage(header =>
    api.POST('/api/approvals/{id}', {
      params: { ...of(id), header },
      // The values of a form are objects of any kind for the schema.
      body: { ...answer, hash } as Schemas['AnswerRequest'],
    }),
  )
/** Starts the time to answer a pending call again. */
export const holdApproval = (id: string) =>
  asPage(header => api.POST('/api/approvals/{id}/hold', { params: { ...of(id), header } }))
/** Has a pending command run with its changes kept apart; then it is asked about again, with what it would change. */
export const rehearseApproval = (id: string) =>
  asPage(header => api.POST('/api/approvals/{id}/rehearse', { params: { ...of(id), header } }))
export const listAlways = () => dataOf(api.GET('/api/approvals/always')).then(r => r.rules)
export const removeAlways = (id: string) =>
  asPage(header => api.DELETE('/api/approvals/always/{id}', { params: { ...of(id), header } }))

/** Clears the taint: text from outside that the conversation has read so far does not count. */
export const clearTaint = (id: string) =>
  asPage(header => api.DELETE('/api/sessions/{id}/taint', { params: { ...of(id), header } }))

/** Undoes a file change, or redoes it if it is undone. */
export const undoChange = (id: string, call_id: string) =>
  dataOf(api.POST('/api/sessions/{id}/operations/{call_id}/undo', { params: { path: { id, call_id } } }))

const work = (id: string, work_id: string) => ({ params: { path: { id, work_id } } })
/** The works of a session with their operations, oldest first, also those that were taken back. */
export const listOperations = (id: string) =>
  dataOf(api.GET('/api/sessions/{id}/operations', { params: { ...of(id), query: { withdrawn: 'include' } } }))
/** Previews what undoing all changes of a work would do. */
export const previewUndo = (id: string, work_id: string) =>
  dataOf(api.GET('/api/sessions/{id}/works/{work_id}/undo', work(id, work_id))).then(r => r.files)
/** Withdraws a work; the files `keep` stay as they are. */
export const withdrawWork = (id: string, work_id: string, keep: readonly string[]) =>
  dataOf(
    api.POST('/api/sessions/{id}/works/{work_id}/withdraw', {
      ...work(id, work_id),
      body: { keep: [...keep] },
    }),
  )
/** Reapplies a withdrawn work; the files `keep` stay as they are. */
export const reapplyWork = (id: string, work_id: string, keep: readonly string[]) =>
  dataOf(
    api.POST('/api/sessions/{id}/works/{work_id}/reapply', {
      ...work(id, work_id),
      body: { keep: [...keep] },
    }),
  )
/** Previews what undoing the changes of all works after one would do. */
export const previewUndoLater = (id: string, work_id: string) =>
  dataOf(api.GET('/api/sessions/{id}/works/{work_id}/undo/later', work(id, work_id)))
/** What a conversation, or one of its works, changed in files. */
export const listChanges = (id: string, work_id: string | null) =>
  dataOf(
    api.GET('/api/sessions/{id}/changes', {
      params: { ...of(id), query: work_id === null ? {} : { work_id } },
    }),
  )
/** What a rehearsed call would change in files, while a person is asked about it. */
export const listRehearsed = (id: string) =>
  dataOf(api.GET('/api/approvals/{id}/changes', { params: of(id) })).then(r => r.files)
/** The changes that a file is one of. */
export type ChangeSource =
  /** Those of a work; null for those of the whole conversation. */
  { sessionId: string; work: string | null } | { approvalId: string }
/** A version of a changed file. */
export interface ChangedVersion {
  path: string
  side: VersionSide
}
const workOf = (source: ChangeSource) =>
  'work' in source && source.work !== null ? { work_id: source.work } : {}
export const readChanged = (source: ChangeSource, version: ChangedVersion): Promise<string> => {
  if ('approvalId' in source) {
    const params = { ...of(source.approvalId), query: version }
    return dataOf(api.GET('/api/approvals/{id}/changes/content', { params, parseAs: 'text' }))
  }
  const params = { ...of(source.sessionId), query: { ...version, ...workOf(source) } }
  return dataOf(api.GET('/api/sessions/{id}/changes/content', { params, parseAs: 'text' }))
}
/** The address of that version, for a picture or a download. */
export function changedUrl(source: ChangeSource, version: ChangedVersion): string {
  const whose =
    'approvalId' in source
      ? `approvals/${encodeURIComponent(source.approvalId)}`
      : `sessions/${encodeURIComponent(source.sessionId)}`
  const query = new URLSearchParams(Object.entries({ ...version, ...workOf(source) }))
  return `/api/${whose}/changes/content?${query}`
}
/** Reads the text of a file before a work changed it; null if it did not exist. */
export const readBefore = (id: string, work_id: string, path: string) => {
  const { params } = work(id, work_id)
  const request = { params: { ...params, query: { path } } }
  return dataOf(api.GET('/api/sessions/{id}/works/{work_id}/before', request)).then(r => r.before ?? null)
}
export const readRetrieved = (id: string, work_id: string) =>
  dataOf(api.GET('/api/sessions/{id}/works/{work_id}/retrieved', work(id, work_id))) as Promise<Search>

export type TokenCount = Schemas['SessionTokens']
/** The size of the next request if this message were sent now. */
export type DraftMessage = Schemas['DraftMessage']
export const countTokens = (body: DraftMessage) => dataOf(api.POST('/api/tokens/request', { body }))

/** What is chosen for a conversation that has no session yet. */
export interface NewChoice {
  chosen: Chosen
  projectId: string | null
}

/** The next request, as it would be sent at this moment. */
export const getPrompt = (session_id: string | null, { chosen, projectId }: NewChoice) => {
  const { model, thinking, permission_mode } = chosen
  const choice = {
    ...(projectId && { project_id: projectId }),
    ...(model && { model }),
    ...(thinking != null && { thinking }),
    ...(permission_mode && { permission_mode }),
  }
  return dataOf(api.GET('/api/prompt', query(session_id === null ? choice : { session_id })))
}

/** The requests that produced the answer of a work, in the order they were sent. */
export const listSent = (id: string, work_id: string) =>
  dataOf(api.GET('/api/sessions/{id}/requests', { params: { ...of(id), query: { work_id } } })).then(
    r => r.requests,
  )
export const readSent = (id: string, name: string) =>
  dataOf(
    api.GET('/api/sessions/{id}/requests/{name}', { params: { path: { id, name } } }),
  ) as Promise<SentDetail>

export const setRagMode = (enabled: boolean) => dataOf(api.PUT('/api/config/rag-mode', { body: { enabled } }))
/** Whether RAG mode also searches past conversations. */
export const setRagConversations = (enabled: boolean, conversations: boolean) =>
  asPage(header => api.PUT('/api/config/rag-mode', { params: { header }, body: { enabled, conversations } }))

export const listFiles = (root: Root) =>
  dataOf(api.GET('/api/files/list', query({ root }))).then(r => r.files)
/** Lists the direct entries of a folder. */
export const listFolder = (path: string) => dataOf(api.GET('/api/files/folder', query({ path })))

export interface FileSearch {
  /** Words of the path, in any order. */
  words: string
  /** All roots if absent. */
  root?: Root
  limit?: number
}
export const findFiles = (search: FileSearch) => dataOf(api.GET('/api/files/find', query({ ...search })))
/** The lines of a root's files that contain all words. */
export const searchText = (root: string, text: string) =>
  dataOf(api.GET('/api/files/search', query({ root, text })))
/** Disables a skill, so that the model is not offered it, or enables it again. */
export const enableSkill = (location: string, enabled: boolean) =>
  dataOf(api.PUT('/api/skills/enabled', { body: { location, enabled } }))
export const listSkills = () => dataOf(api.GET('/api/skills'))
/** Whether the current version of a skill file is trusted, and which version was trusted before. */
export const readTrust = (path: string) => dataOf(api.GET('/api/skills/trust', query({ path })))
/** Trusts exactly this version, which a person has reviewed. */
export const trustFile = (path: string, etag: string) =>
  asPage(header => api.POST('/api/skills/trust', { params: { header }, body: { path, etag } }))

export type FileContent = Schemas['FileContent']
export const readFile = (path: string) => dataOf(api.GET('/api/files', query({ path })))

/** The state of the file that a write requires: the version last read, or that the file does not exist. */
export type Precondition = { match: string } | 'absent'
const bare = (etag: string): string => etag.replace(/^W\//, '').replace(/^"(.*)"$/, '$1')
export const sameEtag = (a: string, b: string): boolean => bare(a) === bare(b)
const matching = (etag: string | null) => (etag === null ? {} : { 'If-Match': `"${bare(etag)}"` })

/** Saves a file as the page, so that what a person types counts as trusted. */
export const writeFile = (path: string, content: string, precondition: Precondition) => {
  const header = precondition === 'absent' ? { 'If-None-Match': '*' } : matching(precondition.match)
  return asPage(proof =>
    api.POST('/api/files', { params: { header: { ...header, ...proof } }, body: { path, content } }),
  )
}
export const renameFile = (from: string, to: string, etag: string | null) =>
  dataOf(api.POST('/api/files/rename', { params: { header: matching(etag) }, body: { from, to } }))
/** Returns the trash id that restores the file. */
export const deleteFile = (path: string, etag: string | null) =>
  dataOf(api.DELETE('/api/files', { params: { query: { path }, header: matching(etag) } })).then(r => r.trash)
export const restoreFile = (trash: string) => dataOf(api.POST('/api/files/restore', { body: { trash } }))
/** Counts the tokens of a text as the content of this file. */
export const countText = (path: string, text: string) =>
  dataOf(api.POST('/api/tokens/text', { body: { path, text } }))

/** Number of candidates in a search response, from which the page can rank again under other weights. */
const CANDIDATES = 50
export const searchPassages = (folder: SearchFolder, words: string, k: number) =>
  dataOf(
    api.GET('/api/retrieval/search', query({ query: words, folder, k, candidates: CANDIDATES })),
  ) as Promise<Search>
export const getRetrievalStatus = () => dataOf(api.GET('/api/retrieval/status'))
export const getChunks = (path: string) =>
  dataOf(api.GET('/api/retrieval/chunks', query({ path }))) as Promise<FileChunks>
export const getTests = (folder: SearchFolder) =>
  dataOf(api.GET('/api/retrieval/tests', query({ folder }))) as Promise<RetrievalTests>
export const runTests = (folder: SearchFolder, k: number) =>
  dataOf(api.POST('/api/retrieval/tests', { body: { folder, k } })) as Promise<Report>
