/** Cached reads about accounts. They are loaded with what shows them. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { isMulti, peopleKeys as keys } from './multi'
import {
  type AuditFilter,
  getAuthMode,
  getProfile,
  listAudit,
  listInvitations,
  listPeople,
  listTokens,
  listTools,
  listUsage,
} from './people'

/** Always asked again: the first account may have been made meanwhile. */
export const useAuthMode = () =>
  useQuery({ queryKey: keys.mode, queryFn: getAuthMode, staleTime: 0, networkMode: 'always' })
/** Read only where there are accounts. */
export const useProfile = (multi: boolean) =>
  useQuery({ queryKey: keys.profile, queryFn: getProfile, enabled: multi })
/** Whether the person may see and change the settings, providers and models of the server; undefined until it is known. */
export function useMayConfigure(): boolean | undefined {
  const multi = isMulti()
  const { data } = useProfile(multi)
  return multi ? data && data.role === 'admin' : true
}
export const useTokens = () => useQuery({ queryKey: keys.tokens, queryFn: listTokens, staleTime: 0 })
export const usePeople = () => useQuery({ queryKey: keys.people, queryFn: listPeople, staleTime: 0 })
/** What people use. Sizes of homes are measured after the first request, so it is asked again until all are there. */
export const useUsage = () =>
  useQuery({
    queryKey: keys.usage,
    queryFn: listUsage,
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data?.some(({ home }) => home === null) ? 3000 : false),
  })
export const useInvitations = () =>
  useQuery({ queryKey: keys.invitations, queryFn: listInvitations, staleTime: 0 })
/** The audit log, page by page. */
export const useAudit = (filter: AuditFilter) =>
  useInfiniteQuery({
    queryKey: [...keys.audit, filter],
    queryFn: ({ pageParam }) => listAudit(filter, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: page => page.next_cursor ?? null,
    staleTime: 0,
  })
export const useTools = () => useQuery({ queryKey: keys.tools, queryFn: listTools, staleTime: 0 })
