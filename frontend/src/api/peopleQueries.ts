/** Cached reads about accounts. They are loaded with what shows them. */
import { useQuery } from '@tanstack/react-query'
import { peopleKeys as keys } from './multi'
import { getAuthMode, getProfile, listInvitations, listPeople, listTokens } from './people'

/** Always asked again: the first account may have been made meanwhile. */
export const useAuthMode = () =>
  useQuery({ queryKey: keys.mode, queryFn: getAuthMode, staleTime: 0, networkMode: 'always' })
/** Read only where there are accounts. */
export const useProfile = (multi: boolean) =>
  useQuery({ queryKey: keys.profile, queryFn: getProfile, enabled: multi })
export const useTokens = () => useQuery({ queryKey: keys.tokens, queryFn: listTokens, staleTime: 0 })
export const usePeople = () => useQuery({ queryKey: keys.people, queryFn: listPeople, staleTime: 0 })
export const useInvitations = () =>
  useQuery({ queryKey: keys.invitations, queryFn: listInvitations, staleTime: 0 })
