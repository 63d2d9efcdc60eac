/** Cached reads from the server: React Query stores them, and the event stream invalidates them. */
import {
  keepPreviousData,
  type Query,
  QueryClient,
  skipToken,
  type UseQueryResult,
  useQueries,
  useQuery,
} from '@tanstack/react-query'
import { useCallback } from 'react'
import { isTrustedByVersion } from '@/lib/guidance'
import { FileRef, foldersOf, isBelow, projectOf, type Root, type SearchFolder } from '@/lib/roots'
import {
  countTokens,
  type DraftMessage,
  type FileSearch,
  findFiles,
  getChunks,
  getMessages,
  getPrompt,
  getRetrievalStatus,
  getSettings,
  getStatus,
  getTests,
  getUsage,
  listAlways,
  listApprovals,
  listCompacted,
  listDeleted,
  listFiles,
  listFolder,
  listJobs,
  listModels,
  listOperations,
  listProviders,
  listSent,
  listSessions,
  listSkills,
  listTrash,
  type NewChoice,
  previewUndo,
  readCited,
  readCompacted,
  readFile,
  readRetrieved,
  readSent,
  readTrust,
  searchPassages,
  searchSessions,
  searchText,
} from './endpoints'
import type {
  Approval,
  BackgroundJob,
  FolderContent,
  FolderStatus,
  IndexNotice,
  ModelStatus,
  Report,
  RetrievalStatus,
  RetrievalTests,
  SessionList,
  SessionSummary,
  Status,
  TokenStats,
} from './types'

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { staleTime: 30_000, retry: 1, refetchOnWindowFocus: false },
    // The server may be on this machine, which a browser without a network reaches all the same.
    mutations: { networkMode: 'always' },
  },
})

export const keys = {
  status: ['status'],
  models: ['models'],
  providers: ['providers'],
  settings: ['settings'],
  sessions: ['sessions'],
  projects: ['projects'],
  /** Refreshed with the projects. */
  deletedProjects: ['projects', 'deleted'],
  conversation: (id: string) => ['conversation', id],
  /** Refreshed with the list of conversations. */
  everyBound: ['sessions', 'bound'],
  bound: (project: string) => ['sessions', 'bound', project],
  found: ['found'],
  deleted: ['deleted'],
  trash: ['trash'],
  compacted: (id: string) => ['compacted', id],
  approvals: ['approvals'],
  always: ['always'],
  files: ['files'],
  root: (root: Root) => ['files', 'root', root],
  folder: (path: string) => ['files', 'folder', path],
  /** Null for a search in all roots. */
  foundFiles: (root: Root | null) => ['files', 'found', root],
  skills: ['skill-list'],
  tokens: ['tokens'],
  sessionTokens: (id: string) => ['tokens', id],
  raw: (id: string) => ['raw', id],
  everyJob: ['jobs'],
  jobs: (id: string) => ['jobs', id],
  operations: (id: string) => ['operations', id],
  changes: ['changes'],
  changesOf: (id: string) => ['changes', id],
  texts: ['text'],
  text: (path: string) => ['text', path],
  retrieval: ['retrieval'],
  index: ['retrieval', 'index'],
  /** By the server's name of the folder, which a notice may give for an index that this page does not know. */
  searches: (folder: string) => ['retrieval', 'search', folder],
  chunks: ['retrieval', 'chunks'],
  tests: (folder: string) => ['retrieval', 'tests', folder],
} as const

export type QueryKey = readonly unknown[]

/** Asks for the status, for all that show it. */
export const askStatus = () =>
  queryClient.fetchQuery({ queryKey: keys.status, queryFn: getStatus, retry: false })
export const useStatus = () => useQuery({ queryKey: keys.status, queryFn: getStatus })
export const useModels = () => useQuery({ queryKey: keys.models, queryFn: listModels })
/** Never served from the cache: a request may have changed the state of a provider, and an editor config.yml. */
export const useProviders = () => useQuery({ queryKey: keys.providers, queryFn: listProviders, staleTime: 0 })
export const useSettings = () => useQuery({ queryKey: keys.settings, queryFn: getSettings, staleTime: 0 })
export const useSessions = () =>
  useQuery({ queryKey: keys.sessions, queryFn: listSessions, select: list => list.sessions })
export const useSessionList = () => useQuery({ queryKey: keys.sessions, queryFn: listSessions })
/** Ids of the pinned sessions. */
export const usePinned = () =>
  useQuery({ queryKey: keys.sessions, queryFn: listSessions, select: list => list.pinned })
/** Ids of the archived sessions. */
export const useArchived = () =>
  useQuery({ queryKey: keys.sessions, queryFn: listSessions, select: list => list.archived })

export const useFound = (words: string) =>
  useQuery({
    queryKey: [...keys.found, words],
    queryFn: () => searchSessions(words),
    enabled: words !== '',
    placeholderData: keepPreviousData,
  })
/** Searched anew each time: files change without notice while nobody looks. */
export const useFoundText = (root: Root, text: string) =>
  useQuery({
    queryKey: ['found-text', root, text],
    queryFn: () => searchText(root, text),
    enabled: text !== '',
    placeholderData: keepPreviousData,
    staleTime: 0,
  })
export const useUsage = (period: TokenStats['period']) =>
  useQuery({
    queryKey: ['usage', period],
    queryFn: () => getUsage(period),
    placeholderData: keepPreviousData,
    staleTime: 0,
  })
export const useDeleted = () => useQuery({ queryKey: keys.deleted, queryFn: listDeleted, staleTime: 0 })
export const useTrash = () => useQuery({ queryKey: keys.trash, queryFn: listTrash, staleTime: 0 })
export const useCompactedParts = (id: string) =>
  useQuery({ queryKey: keys.compacted(id), queryFn: () => listCompacted(id), staleTime: 0 })
export const useCompactedMessages = (id: string, name: string) =>
  useQuery({ queryKey: [...keys.compacted(id), name], queryFn: () => readCompacted(id, name) })
/** A message that the open conversation does not show; asks for nothing while that is not known. */
export const useCited = (id: string | null, message: string | null) =>
  useQuery({
    queryKey: [...keys.compacted(id ?? ''), 'cited', message],
    queryFn: id !== null && message !== null ? () => readCited(id, message) : skipToken,
    staleTime: 0,
    gcTime: 0,
    retry: false,
  })
/** All files of a root. */
export const useFiles = (root: Root, enabled: boolean) =>
  useQuery({ queryKey: keys.root(root), queryFn: () => listFiles(root), enabled })
/** The cached content of a folder. */
export const knownFolder = (path: string) => queryClient.getQueryData<FolderContent>(keys.folder(path))
let projects: typeof import('./projects') | null = null
/** The code for projects, loaded when it is first needed: even the import of loaded code takes longer than a frame. */
const forProjects = async () => (projects ??= await import('./projects'))
/** Lists a folder of the home, or of a project. */
async function contentOf(path: string): Promise<FolderContent> {
  // The root itself has no file reference.
  const root = FileRef.parse(`${path}/.`)?.root ?? null
  const project = root && projectOf(root)
  if (!project || !root) return listFolder(path)
  // A folder that is read again keeps the pages that it had.
  const known = knownFolder(path)
  const wanted = known ? known.folders.length + known.files.length : 0
  return (projects ?? (await forProjects())).listProjectFolder(root, path, wanted)
}
/** Reads the next page of a folder of a project. Returns what shows it. */
export async function nextOfFolder(root: Root, path: string): Promise<() => void> {
  const known = knownFolder(path)
  if (!known?.pages?.next) return () => {}
  const content = await (await forProjects()).withNextPage(root, known)
  return () => {
    // Unless it has been read again meanwhile.
    queryClient.setQueryData<FolderContent>(keys.folder(path), now => (now === known ? content : now))
  }
}
/** The cached contents of a root and of the folders below it. */
export const knownFolders = (root: Root): FolderContent[] =>
  queryClient
    .getQueriesData<FolderContent>({ queryKey: ['files', 'folder'] })
    .flatMap(([, content]) =>
      content && (content.path === root || isBelow(root, content.path)) ? content : [],
    )
const folderQuery = (path: string) => ({ queryKey: keys.folder(path), queryFn: () => contentOf(path) })
/** Asks for a folder that is about to be opened, before anything is rendered. */
export const preloadFolder = (path: string): void => void queryClient.prefetchQuery(folderQuery(path))
type FolderResult = Pick<UseQueryResult<FolderContent>, 'data' | 'error'>
/** The content of each of these folders, as far as it is loaded. */
export function useFolders(paths: readonly string[]): ReadonlyMap<string, FolderResult> {
  const names = paths.join('\n')
  const combine = useCallback(
    (results: FolderResult[]) => {
      const known = names.split('\n')
      return new Map(results.map(({ data, error }, i) => [known[i] ?? '', { data, error }]))
    },
    [names],
  )
  return useQueries({ queries: paths.map(folderQuery), combine })
}
/** Files found by words of their paths; the previous result stays until the next one arrives. */
export const useFoundFiles = (search: FileSearch, enabled = true) =>
  useQuery({
    queryKey: [...keys.foundFiles(search.root ?? null), search],
    queryFn: () => findFiles(search),
    enabled,
    placeholderData: keepPreviousData,
  })
export const useSkills = () =>
  useQuery({ queryKey: keys.skills, queryFn: listSkills, select: list => list.skills })
/** The files in skills/ whose current version nobody has trusted. */
export const useUntrusted = () =>
  useQuery({ queryKey: keys.skills, queryFn: listSkills, select: list => list.untrusted })
/** Null for a file that is used without being trusted: nothing is asked. */
export const useTrust = (path: string | null) =>
  useQuery({
    queryKey: [...keys.skills, 'trust', path],
    queryFn: path === null ? skipToken : () => readTrust(path),
    staleTime: 0,
  })

/** The pending calls of all sessions, oldest first. */
export const useApprovals = () => useQuery({ queryKey: keys.approvals, queryFn: listApprovals })
export const useAlways = () => useQuery({ queryKey: keys.always, queryFn: listAlways })

const editApprovals = (edit: (list: Approval[]) => Approval[]): void => {
  queryClient.setQueryData<Approval[]>(keys.approvals, list => edit(list ?? []))
}
/** A call that is asked about again keeps its place. */
export const putApproval = (approval: Approval): void =>
  editApprovals(list =>
    list.some(({ id }) => id === approval.id)
      ? list.map(other => (other.id === approval.id ? approval : other))
      : [...list, approval],
  )
export const extendApproval = (id: string, expires_at: number): void =>
  editApprovals(list => list.map(one => (one.id === id ? { ...one, expires_at } : one)))
/** Unless it has been asked again in the meantime. */
export const markRehearsing = (id: string): void =>
  editApprovals(list =>
    list.map(one =>
      one.id === id && one.rehearsal?.state === 'available'
        ? { ...one, rehearsal: { state: 'running' } }
        : one,
    ),
  )
export const dropApproval = (id: string): void =>
  editApprovals(list => list.filter(approval => approval.id !== id))

/** The size of the next request with a draft; while it is counted again, that of the same session's previous draft. */
export const useTokens = (id: string | null, draft: Omit<DraftMessage, 'session_id'>) =>
  useQuery({
    queryKey: [...keys.sessionTokens(id ?? ''), draft],
    queryFn: () => countTokens({ ...draft, session_id: id }),
    placeholderData: (previous, query) => (query?.queryKey[1] === (id ?? '') ? previous : undefined),
  })

export const useRawMessages = (id: string | null, shown: boolean) =>
  useQuery({
    queryKey: keys.raw(id ?? ''),
    queryFn: () => getMessages(id ?? ''),
    enabled: shown && id !== null,
  })

export const useOperations = (id: string) =>
  useQuery({ queryKey: keys.operations(id), queryFn: () => listOperations(id), staleTime: 0 })
/** Milliseconds between two reads of the output of running commands. */
const OUTPUT_MS = 1000
/**
 * The commands in the background of a conversation. A notice refreshes them when one starts or ends; their output only
 * while it is `watched`, one of them runs and the page is in view.
 */
export const useJobs = (id: string | null, watched?: 'watched') =>
  useQuery({
    queryKey: keys.jobs(id ?? ''),
    queryFn: id === null ? skipToken : () => listJobs(id),
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: ({ state: { data } }) =>
      watched && data?.some(job => job.state === 'running') ? OUTPUT_MS : false,
  })
export const patchJob = (key: QueryKey, job: BackgroundJob): void => {
  queryClient.setQueryData<BackgroundJob[]>(key, jobs =>
    jobs?.map(known => (known.id === job.id && known.call_id === job.call_id ? job : known)),
  )
}
/** Never served from the cache: a file may have changed. */
export const usePrompt = (id: string | null, choice: NewChoice) =>
  useQuery({
    queryKey: [...keys.tokens, 'prompt', id, choice],
    queryFn: () => getPrompt(id, choice),
    staleTime: 0,
    gcTime: 0,
  })

/** The requests that produced an answer; a running work adds more. */
export const useSent = (id: string, work: string) =>
  useQuery({ queryKey: ['sent', id, work], queryFn: () => listSent(id, work), staleTime: 0 })
/** A sent request never changes, but its response may still be arriving. */
export const useSentDetail = (id: string, name: string) =>
  useQuery({ queryKey: ['sent', id, 'request', name], queryFn: () => readSent(id, name), staleTime: 0 })
/** Never served from the cache: a file may have changed. */
export const useUndoing = (id: string, work: string) =>
  useQuery({
    queryKey: ['undoing', id, work],
    queryFn: () => previewUndo(id, work),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  })
export const useRetrieved = (id: string, work: string, shown: boolean) =>
  useQuery({
    queryKey: ['retrieved', id, work],
    queryFn: () => readRetrieved(id, work),
    enabled: shown,
    staleTime: Number.POSITIVE_INFINITY,
  })

export const useIndex = () => useQuery({ queryKey: keys.index, queryFn: getRetrievalStatus })

/** The previous result stays until the new one arrives, so that the list does not flicker on every keystroke. */
export const useSearchAnswer = (folder: SearchFolder, query: string, k: number) =>
  useQuery({
    queryKey: [...keys.searches(folder), query, k],
    queryFn: () => searchPassages(folder, query, k),
    enabled: query !== '',
    placeholderData: keepPreviousData,
  })

export const useChunks = (path: string | null) =>
  useQuery({
    queryKey: [...keys.chunks, path],
    queryFn: () => getChunks(path ?? ''),
    enabled: path !== null,
  })

export const useFileText = (path: string | null) =>
  useQuery({ queryKey: keys.text(path ?? ''), queryFn: () => readFile(path ?? ''), enabled: path !== null })

export const useTests = (folder: SearchFolder) =>
  useQuery({ queryKey: keys.tests(folder), queryFn: () => getTests(folder) })

export const refresh = (queryKey: QueryKey): void => {
  const isFirst = ({ state }: Query) => state.fetchStatus === 'fetching' && state.data === undefined
  const first = queryClient.getQueryCache().findAll({ queryKey, predicate: isFirst }).length > 0
  const asked = queryClient.invalidateQueries({ queryKey })
  // React Query awaits a first fetch that is under way instead of repeating it, but its response may predate the
  // change.
  if (first) void asked.then(() => queryClient.invalidateQueries({ queryKey }))
}

/**
 * The lists that may show a file: those of its root, the searches that may find it, and the folders above it, which
 * show its tokens in their sums. No other folder is listed again: each may cost the server a thousand files.
 */
export const listsOf = (file: FileRef): QueryKey[] => [
  ...[file.root, ...foldersOf(`${file}`)].map(keys.folder),
  keys.root(file.root),
  keys.foundFiles(file.root),
  keys.foundFiles(null),
]

export function refreshEach(all: readonly QueryKey[]): void {
  for (const key of new Map(all.map(key => [JSON.stringify(key), key])).values()) refresh(key)
}

/** Refreshes what the page shows of these files outside the editor, after the page has written them. */
export const refreshFiles = (...files: FileRef[]): void =>
  refreshEach([
    ...files.flatMap(listsOf),
    keys.tokens,
    ...(files.some(isTrustedByVersion) ? [keys.skills] : []),
  ])

export const editSessions = (edit: (list: SessionSummary[]) => SessionSummary[]): void => {
  queryClient.setQueryData<SessionList>(
    keys.sessions,
    known => known && { ...known, sessions: edit(known.sessions) },
  )
}

export function patchSession(id: string, patch: Partial<SessionSummary>): void {
  editSessions(list => list.map(session => (session.id === id ? { ...session, ...patch } : session)))
}

export const patchList = (patch: Partial<Pick<SessionList, 'pinned' | 'archived' | 'labels'>>): void => {
  queryClient.setQueryData<SessionList>(keys.sessions, known => known && { ...known, ...patch })
}

export const patchStatus = (patch: (status: Status) => Status): void => {
  queryClient.setQueryData<Status>(keys.status, status => (status ? patch(status) : status))
}

export const patchModel = (model: ModelStatus): void => patchStatus(status => ({ ...status, model }))

/** Applies a notice; returns the previous status, if it was known. */
export function patchIndex({ folder, state, done, total }: IndexNotice): FolderStatus | undefined {
  const known = queryClient.getQueryData<RetrievalStatus>(keys.index)
  queryClient.setQueryData<RetrievalStatus>(
    keys.index,
    status =>
      status && {
        ...status,
        folders: status.folders.map(f => (f.folder === folder ? { ...f, state, done, total } : f)),
      },
  )
  return known?.folders.find(f => f.folder === folder)
}

export const putReport = (report: Report): void => {
  queryClient.setQueryData<RetrievalTests>(keys.tests(report.folder), tests =>
    tests ? { ...tests, last: report } : tests,
  )
}
