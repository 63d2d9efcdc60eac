/** What the page knows of the accounts on the server, without asking. */
import { personOfPage } from '@/lib/storage'
import { queryClient } from './queries'
import type { AuthMode, Person } from './types'

export const peopleKeys = {
  mode: ['auth', 'mode'],
  profile: ['auth', 'profile'],
  tokens: ['auth', 'tokens'],
  people: ['admin', 'people'],
  usage: ['admin', 'usage'],
  invitations: ['admin', 'invitations'],
  audit: ['admin', 'audit'],
  tools: ['tools'],
} as const

/** Whether the server has accounts. Until it was asked, because this browser has signed in to one. */
export function isMulti(): boolean {
  const mode = queryClient.getQueryData<AuthMode>(peopleKeys.mode)
  return mode ? mode.auth_mode === 'multi' : personOfPage !== null
}

const proxy = () => queryClient.getQueryData<AuthMode>(peopleKeys.mode)?.proxy_sign_in

/** Whether signing out has an effect. A proxy without an address for it would sign the person in again at once. */
export const canSignOut = (): boolean => {
  const found = proxy()
  return !found || found.logout_url !== null
}

/** Where somebody who has signed out goes: the proxy's own sign-out, if it is the proxy that signs them in. */
export const afterSignOut = (): string => proxy()?.logout_url ?? '/'

/** Whether the person is known to be an administrator. */
export const isAdmin = (): boolean =>
  isMulti() && queryClient.getQueryData<Person>(peopleKeys.profile)?.role === 'admin'

/** Whether the person may see and change the settings, providers and models of the server. */
export const mayConfigure = (): boolean => !isMulti() || isAdmin()
