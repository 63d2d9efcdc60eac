/** Git and the secrets of a project. Responses have an envelope. */
import { useQuery } from '@tanstack/react-query'
import { api, dataOf } from './client'
import type { components } from './schema'

type Schemas = components['schemas']

export type GitStatus = Schemas['GitStatus']
export type GitEntry = Schemas['GitEntry']
export type GitChange = Schemas['GitChange']
export type GitCommit = Schemas['GitCommit']
export type GitBranch = Schemas['GitBranch']
export type GitDiff = Schemas['GitDiff']
export type DiscardedFile = Schemas['DiscardedFile']
export type ProjectSecret = Schemas['ProjectSecret']

/** Which diff is wanted: of a file, of what is staged of it, or of a commit. */
export interface DiffOf {
  path?: string
  staged?: boolean
  commit?: string
}

const of = (id: string) => ({ path: { id } })
const secret = (id: string, name: string) => ({ params: { path: { id, name } } })

export const gitKey = (id: string) => ['git', id]
export const secretsKey = (id: string) => ['secrets', id]

const status = (id: string): Promise<GitStatus> =>
  dataOf(api.GET('/api/projects/{id}/git', { params: of(id) })).then(r => r.data)
const diff = (id: string, query: DiffOf): Promise<GitDiff> =>
  dataOf(api.GET('/api/projects/{id}/git/diff', { params: { ...of(id), query } })).then(r => r.data)
const branches = (id: string): Promise<GitBranch[]> =>
  dataOf(api.GET('/api/projects/{id}/git/branches', { params: of(id) })).then(r => r.data.items)

export const log = (id: string, cursor: string | null) =>
  dataOf(
    api.GET('/api/projects/{id}/git/log', {
      params: { ...of(id), query: cursor === null ? {} : { cursor } },
    }),
  ).then(r => r.data)
export const init = (id: string) => dataOf(api.POST('/api/projects/{id}/git/init', { params: of(id) }))
/** Without paths: everything. */
export const stage = (id: string, paths?: readonly string[]) =>
  dataOf(
    api.POST('/api/projects/{id}/git/stage', {
      params: of(id),
      body: { ...(paths && { paths: [...paths] }) },
    }),
  )
export const unstage = (id: string, paths?: readonly string[]) =>
  dataOf(
    api.POST('/api/projects/{id}/git/unstage', {
      params: of(id),
      body: { ...(paths && { paths: [...paths] }) },
    }),
  )
export const discard = (id: string, paths: readonly string[]): Promise<DiscardedFile[]> =>
  dataOf(api.POST('/api/projects/{id}/git/discard', { params: of(id), body: { paths: [...paths] } })).then(
    r => r.data.files,
  )
export const undoDiscard = (id: string, files: readonly DiscardedFile[]) =>
  dataOf(api.POST('/api/projects/{id}/git/undo-discard', { params: of(id), body: { files: [...files] } }))
export const commit = (id: string, body: Schemas['NewCommit']) =>
  dataOf(api.POST('/api/projects/{id}/git/commit', { params: of(id), body }))
export const createBranch = (id: string, name: string) =>
  dataOf(api.POST('/api/projects/{id}/git/branches', { params: of(id), body: { name, switch: true } }))
export const switchTo = (id: string, name: string) =>
  dataOf(api.POST('/api/projects/{id}/git/switch', { params: of(id), body: { name } }))

export const setSecret = (id: string, name: string, value: string) =>
  dataOf(api.PUT('/api/projects/{id}/secrets/{name}', { ...secret(id, name), body: { value } }))
export const removeSecret = (id: string, name: string) =>
  dataOf(api.DELETE('/api/projects/{id}/secrets/{name}', secret(id, name)))

/** Read again whenever the window is shown: other programs change repositories too. */
export const useGitStatus = (id: string) =>
  useQuery({
    queryKey: gitKey(id),
    queryFn: () => status(id),
    staleTime: 0,
    refetchOnWindowFocus: true,
    retry: false,
  })
export const useGitDiff = (id: string, wanted: DiffOf | null) =>
  useQuery({
    queryKey: [...gitKey(id), 'diff', wanted],
    queryFn: () => diff(id, wanted ?? {}),
    enabled: wanted !== null,
    staleTime: 0,
    retry: false,
  })
export const useGitBranches = (id: string, enabled: boolean) =>
  useQuery({
    queryKey: [...gitKey(id), 'branches'],
    queryFn: () => branches(id),
    enabled,
    staleTime: 0,
    retry: false,
  })
export const useSecrets = (id: string) =>
  useQuery({
    queryKey: secretsKey(id),
    queryFn: () => dataOf(api.GET('/api/projects/{id}/secrets', { params: of(id) })).then(r => r.data.items),
    staleTime: 0,
  })
