/** What is read from the server and kept: React Query holds it, the event stream says when it is old. */
import { QueryClient, useQuery } from '@tanstack/react-query'
import {
  countTokens,
  getMessages,
  getStatus,
  listFiles,
  listSessions,
  listSkills,
  type Root,
} from './endpoints'
import type { ModelStatus, SessionSummary, Status } from './types'

export const queryClient = new QueryClient({
  defaultOptions: { queries: { staleTime: 30_000, retry: 1, refetchOnWindowFocus: false } },
})

export const keys = {
  status: ['status'],
  sessions: ['sessions'],
  files: ['files'],
  root: (root: Root) => ['files', root],
  skills: ['skills'],
  tokens: ['tokens'],
  sessionTokens: (id: string) => ['tokens', id],
  raw: (id: string) => ['raw', id],
} as const

export const useStatus = () => useQuery({ queryKey: keys.status, queryFn: getStatus })
export const useSessions = () => useQuery({ queryKey: keys.sessions, queryFn: listSessions })
export const useFiles = (root: Root) =>
  useQuery({ queryKey: keys.root(root), queryFn: () => listFiles(root), placeholderData: undefined })
export const useSkills = () => useQuery({ queryKey: keys.skills, queryFn: listSkills })

export const useTokens = (id: string | null) =>
  useQuery({
    queryKey: keys.sessionTokens(id ?? ''),
    queryFn: () => countTokens(id ?? ''),
    enabled: id !== null,
  })

export const useRawMessages = (id: string | null, shown: boolean) =>
  useQuery({
    queryKey: keys.raw(id ?? ''),
    queryFn: () => getMessages(id ?? ''),
    enabled: shown && id !== null,
  })

export const refresh = (queryKey: readonly unknown[]): void => {
  void queryClient.invalidateQueries({ queryKey })
}

export function patchSession(id: string, patch: Partial<SessionSummary>): void {
  queryClient.setQueryData<SessionSummary[]>(keys.sessions, list =>
    list?.map(session => (session.id === id ? { ...session, ...patch } : session)),
  )
}

export const patchStatus = (patch: (status: Status) => Status): void => {
  queryClient.setQueryData<Status>(keys.status, status => (status ? patch(status) : status))
}

export const patchModel = (model: ModelStatus): void => patchStatus(status => ({ ...status, model }))
