/** One function an endpoint. */
import type { Answer } from './approvals'
import { call, callAsPage } from './client'
import type { SearchFolder } from './retrieval'
import type {
  AlwaysRule,
  Approval,
  ArchivedPart,
  AttachmentTokens,
  Chosen,
  Compressed,
  CompressionPlan,
  DeletedSession,
  FileChunks,
  FileEntry,
  FileUndo,
  FoundSessions,
  History,
  Message,
  ModelStatus,
  Models,
  Prompt,
  ProposedSummary,
  Report,
  RetrievalStatus,
  RetrievalTests,
  Search,
  SentDetail,
  SentSummary,
  SessionList,
  SessionSummary,
  SkillList,
  Status,
  TextTokens,
  TrashedFiles,
  Trust,
  UsageReport,
} from './types'

const session = (id: string): string => `/api/sessions/${encodeURIComponent(id)}`

export const signIn = (token: string) =>
  call<{ signed_in: boolean }>('/api/login', { method: 'POST', body: { token } })

export const signInByCode = (code: string) =>
  call<{ signed_in: boolean }>('/api/login', { method: 'POST', body: { code } })

export const getStatus = () => call<Status>('/api/status')

/** Days as they are where the reader is. */
export const getUsage = () =>
  call<UsageReport>(`/api/usage?offset_minutes=${-new Date().getTimezoneOffset()}`)

/** Tries an address and a key; answers the models there are. */
export const checkProvider = (base_url: string, api_key: string) =>
  callAsPage<{ models: string[] }>('/api/provider/check', {
    method: 'POST',
    body: { base_url, ...(api_key.trim() === '' ? {} : { api_key }) },
  }).then(r => r.models)
export const connectProvider = (base_url: string, api_key: string, model: string) =>
  callAsPage<ModelStatus>('/api/provider', {
    method: 'PUT',
    body: { base_url, model, ...(api_key.trim() === '' ? {} : { api_key }) },
  })

export const listSessions = () => call<SessionList>('/api/sessions')
export const searchSessions = (words: string) =>
  call<FoundSessions>(`/api/sessions/search?${new URLSearchParams({ q: words })}`)
export const pinSession = (id: string) => call<{ pinned: string[] }>(`${session(id)}/pin`, { method: 'PUT' })
export const unpinSession = (id: string) =>
  call<{ pinned: string[] }>(`${session(id)}/pin`, { method: 'DELETE' })
/** Out of the list, not deleted. */
export const putAway = (id: string) => call<{ put_away: string[] }>(`${session(id)}/away`, { method: 'PUT' })
export const putBack = (id: string) =>
  call<{ put_away: string[] }>(`${session(id)}/away`, { method: 'DELETE' })
export const listArchives = (id: string) =>
  call<{ archives: ArchivedPart[] }>(`${session(id)}/archives`).then(r => r.archives)
export const readArchive = (id: string, name: string) =>
  call<{ messages: Message[] }>(`${session(id)}/archives/${encodeURIComponent(name)}`).then(r => r.messages)
export const listDeleted = () =>
  call<{ sessions: DeletedSession[] }>('/api/sessions/deleted').then(r => r.sessions)
export const forgetSession = (id: string) =>
  call<{ forgotten: boolean }>(`/api/sessions/deleted/${encodeURIComponent(id)}`, { method: 'DELETE' })
export const listTrash = () => call<TrashedFiles>('/api/files/deleted')
export const forgetFile = (trash: string) =>
  call<{ forgotten: boolean }>(`/api/files/deleted?${new URLSearchParams({ trash })}`, { method: 'DELETE' })
export const importSession = (file: unknown) =>
  call<SessionSummary>('/api/sessions/import', { method: 'POST', body: file })
export const branchSession = (id: string, message_id: string, cut: 'before' | 'after') =>
  call<SessionSummary>(`${session(id)}/branch`, { method: 'POST', body: { message_id, cut } })
export const createSession = () => call<SessionSummary>('/api/sessions', { method: 'POST' })
export const renameSession = (id: string, title: string) =>
  call<SessionSummary>(session(id), { method: 'PUT', body: { title } })
export const deleteSession = (id: string) => call<{ deleted: boolean }>(session(id), { method: 'DELETE' })
export const restoreSession = (id: string) =>
  call<SessionSummary>(`${session(id)}/restore`, { method: 'POST' })

export const getHistory = (id: string) => call<History>(`${session(id)}/history`)
export const getMessages = (id: string) =>
  call<{ messages: Message[]; compressed_context?: string | null }>(`${session(id)}/messages`)

export interface Accepted {
  session_id: string
  work_id: string
  after: string
}
/** A file on the wire: a text, the bytes of a picture, or the hash of one that the session has already. */
export interface SentFile {
  name: string
  extension?: string
  content: string
  encoding?: 'text' | 'base64' | 'kept'
}
export interface Outgo {
  message: string
  attachments: readonly SentFile[]
  idempotency_key: string
}
export const sendMessage = (id: string, body: Outgo) =>
  call<Accepted>(`${session(id)}/messages`, { method: 'POST', body })
/** What a file would cost as a part of a message, and how it would be called. */
export const countAttachment = (file: SentFile) =>
  call<AttachmentTokens>('/api/tokens/attachment', { method: 'POST', body: file })
/** Puts a message and all that follow aside, and the way that begins with `to` in their place. */
export const rewind = (id: string, message_id: string, to: string | null) =>
  call<{ session_id: string }>(`${session(id)}/rewind`, { method: 'POST', body: { message_id, to } })
export const listModels = () => call<Models>('/api/models')
/** For what is said from now on. */
export const chooseModel = (id: string, chosen: Chosen) =>
  call<{ chosen: Chosen }>(`${session(id)}/model`, { method: 'PUT', body: chosen })
export const interrupt = (id: string) =>
  call<{ interrupted: boolean }>(`${session(id)}/interrupt`, { method: 'POST' })
export const getCompressionPlan = (id: string, signal: AbortSignal) =>
  call<CompressionPlan>(`${session(id)}/compress`, { signal })
export const proposeSummary = (id: string, hash: string, signal: AbortSignal) =>
  call<ProposedSummary>(`${session(id)}/compress/preview`, { method: 'POST', body: { hash }, signal })
export const compress = (id: string, accepted: { hash: string; summary: string }) =>
  call<Compressed>(`${session(id)}/compress`, { method: 'POST', body: accepted })
/** Puts archived messages back into the conversation. */
export const restoreArchive = (id: string, name: string) =>
  call<{ restored_count: number }>(`${session(id)}/archives/${encodeURIComponent(name)}/restore`, {
    method: 'POST',
  })

export const listApprovals = () => call<{ approvals: Approval[] }>('/api/approvals').then(r => r.approvals)
/** `hash` is of what was shown: what has changed since is not what was allowed. */
export const answerApproval = ({ id, hash }: Approval, answer: Answer) =>
  callAsPage<{ decision: string }>(`/api/approvals/${encodeURIComponent(id)}`, {
    method: 'POST',
    body: { ...answer, hash },
  })
export const listAlways = () => call<{ rules: AlwaysRule[] }>('/api/approvals/always').then(r => r.rules)
export const removeAlways = (id: string) =>
  callAsPage<unknown>(`/api/approvals/always/${encodeURIComponent(id)}`, { method: 'DELETE' })

/** The text from outside that the conversation has read does not count any more. */
export const clearTaint = (id: string) =>
  callAsPage<{ cleared: boolean }>(`${session(id)}/taint`, { method: 'DELETE' })

/** Takes a change of a file back, or makes it again. */
export const undoChange = (id: string, call_id: string) =>
  call<{ path: string; undone: boolean }>(`${session(id)}/operations/${encodeURIComponent(call_id)}/undo`, {
    method: 'POST',
  })

/** What undoing all that a work changed would do. */
export const previewUndo = (id: string, work_id: string) =>
  call<{ files: FileUndo[] }>(`${session(id)}/works/${encodeURIComponent(work_id)}/undo`).then(r => r.files)

export interface TokenCount {
  system_tokens: number
  message_tokens: number
  total_tokens: number
  context_window: number
}
export const countTokens = (id: string) => call<TokenCount>(`/api/tokens/session/${encodeURIComponent(id)}`)

/** The next request, as it would be sent now. */
export const getPrompt = (session_id: string | null) =>
  call<Prompt>(`/api/prompt${session_id === null ? '' : `?${new URLSearchParams({ session_id })}`}`)

/** The requests that made the answer of a work, in the order they were sent. */
export const listSent = (id: string, work_id: string) =>
  call<{ requests: SentSummary[] }>(`${session(id)}/requests?${new URLSearchParams({ work_id })}`).then(
    r => r.requests,
  )
export const readSent = (id: string, name: string) =>
  call<SentDetail>(`${session(id)}/requests/${encodeURIComponent(name)}`)
export const readRetrieved = (id: string, work_id: string) =>
  call<Search>(`${session(id)}/works/${encodeURIComponent(work_id)}/retrieved`)

export const setRagMode = (enabled: boolean) =>
  call<{ enabled: boolean }>('/api/config/rag-mode', { method: 'PUT', body: { enabled } })

export type Root = 'memory' | 'skills' | 'workspace' | 'knowledge'
export const listFiles = (root: Root) =>
  call<{ files: FileEntry[] }>(`/api/files/list?root=${root}`).then(r => r.files)
export const listSkills = () => call<SkillList>('/api/skills')
/** Whether a file of a skill is trusted as it is now, and what was trusted before. */
export const readTrust = (path: string) => call<Trust>(`/api/skills/trust?${new URLSearchParams({ path })}`)
/** Exactly this version, which a person has looked at. */
export const trustFile = (path: string, etag: string) =>
  callAsPage<Trust>('/api/skills/trust', { method: 'POST', body: { path, etag } })

export interface FileContent {
  path: string
  content: string
  etag: string
  tokens?: number | null
}
export const readFile = (path: string) => call<FileContent>(`/api/files?path=${encodeURIComponent(path)}`)

/** What the file must look like for the write to go through: the version last read, or not there at all. */
export type Precondition = { match: string } | 'absent'
const bare = (etag: string): string => etag.replace(/^W\//, '').replace(/^"(.*)"$/, '$1')
export const sameEtag = (a: string, b: string): boolean => bare(a) === bare(b)

export const writeFile = (path: string, content: string, precondition: Precondition) =>
  call<{ path: string; etag: string; tokens?: number | null }>('/api/files', {
    method: 'POST',
    body: { path, content },
    headers:
      precondition === 'absent' ? { 'If-None-Match': '*' } : { 'If-Match': `"${bare(precondition.match)}"` },
  })

const matching = (etag: string | null): Record<string, string> =>
  etag === null ? {} : { 'If-Match': `"${bare(etag)}"` }
export const renameFile = (from: string, to: string, etag: string | null) =>
  call<{ path: string; etag: string }>('/api/files/rename', {
    method: 'POST',
    body: { from, to },
    headers: matching(etag),
  })
/** Answers what brings the file back. */
export const deleteFile = (path: string, etag: string | null) =>
  call<{ trash: string }>(`/api/files?${new URLSearchParams({ path })}`, {
    method: 'DELETE',
    headers: matching(etag),
  }).then(r => r.trash)
export const restoreFile = (trash: string) =>
  call<{ path: string; etag: string }>('/api/files/restore', { method: 'POST', body: { trash } })
/** What a text would cost as a file's content. */
export const countText = (path: string, text: string) =>
  call<TextTokens>('/api/tokens/text', { method: 'POST', body: { path, text } })

/** How many passages an answer may be ranked anew from. */
const CANDIDATES = 50
export const searchPassages = (folder: SearchFolder, query: string, k: number) => {
  const asked = new URLSearchParams({ query, folder, k: String(k), candidates: String(CANDIDATES) })
  return call<Search>(`/api/retrieval/search?${asked}`)
}
export const getRetrievalStatus = () => call<RetrievalStatus>('/api/retrieval/status')
export const getChunks = (path: string) =>
  call<FileChunks>(`/api/retrieval/chunks?path=${encodeURIComponent(path)}`)
export const getTests = (folder: SearchFolder) =>
  call<RetrievalTests>(`/api/retrieval/tests?folder=${folder}`)
export const runTests = (folder: SearchFolder, k: number) =>
  call<Report>('/api/retrieval/tests', { method: 'POST', body: { folder, k } })
