/** Several people on one server: signing in, accounts, and what an administrator does with them. */
import { ApiError, api, dataOf } from './client'
import type {
  AccessTokenRequest,
  AuditEntry,
  AuthMode,
  Credentials,
  NewPerson,
  Person,
  PersonLimits,
  ProfilePatch,
  Role,
} from './types'

const of = (id: string) => ({ params: { path: { id } } })

const SINGLE: AuthMode = { auth_mode: 'single', registration: 'closed', has_accounts: false }

/** How the server is used. One that does not know the endpoint has a single person. */
export async function getAuthMode(): Promise<AuthMode> {
  try {
    return (await dataOf(api.GET('/api/auth/mode'))).data
  } catch (error) {
    // An older server does not know the path, or keeps it closed.
    if (error instanceof ApiError && [401, 404, 405].includes(error.status)) return SINGLE
    throw error
  }
}

/** Signs this browser in by a cookie. The token in the response is for programs: the page does not keep it. */
export const signInAs = (body: Credentials): Promise<Person> =>
  dataOf(api.POST('/api/auth/login', { body })).then(r => r.data.user)
/** Signs this browser in by a cookie, as the person whom a trusted proxy names. */
export const signInByProxy = (): Promise<Person> => dataOf(api.POST('/api/auth/proxy')).then(r => r.data)
export const register = (body: NewPerson) =>
  dataOf(api.POST('/api/auth/register', { body })).then(r => r.data)
export const signPersonOut = () => dataOf(api.POST('/api/auth/logout'))
export const signOutAll = () => dataOf(api.POST('/api/auth/logout-everywhere'))
export const changePassword = (current_password: string, new_password: string) =>
  dataOf(api.POST('/api/auth/password', { body: { current_password, new_password } }))

export const getProfile = () => dataOf(api.GET('/api/auth/profile')).then(r => r.data)
export const changeProfile = (body: ProfilePatch) =>
  dataOf(api.PATCH('/api/auth/profile', { body })).then(r => r.data)

export const listTokens = () => dataOf(api.GET('/api/auth/tokens')).then(r => r.data.items)
export const addToken = (body: AccessTokenRequest) =>
  dataOf(api.POST('/api/auth/tokens', { body })).then(r => r.data)
export const removeToken = (id: string) => dataOf(api.DELETE('/api/auth/tokens/{id}', of(id)))

export const listPeople = () => dataOf(api.GET('/api/admin/people')).then(r => r.data.items)
export const changePerson = (
  id: string,
  body: { is_active?: boolean; role?: Role; limits?: PersonLimits | null },
) => dataOf(api.PATCH('/api/admin/people/{id}', { ...of(id), body })).then(r => r.data)
/** What each person uses: totals, never contents. */
export const listUsage = () => dataOf(api.GET('/api/admin/usage')).then(r => r.data.items)
/** The same as CSV, with the name that the file gets. */
export async function exportPeople() {
  const content = await dataOf(api.GET('/api/admin/usage.csv', { parseAs: 'blob' }))
  return { name: 'people-usage.csv', content }
}
/** Gives a person a new password, which is told only here. */
export const resetPassword = (id: string) =>
  dataOf(api.POST('/api/admin/people/{id}/password', of(id))).then(r => r.data.password)

export const listInvitations = () => dataOf(api.GET('/api/admin/invitations')).then(r => r.data.items)
export const addInvitation = () => dataOf(api.POST('/api/admin/invitations')).then(r => r.data)
export const removeInvitation = (id: string) => dataOf(api.DELETE('/api/admin/invitations/{id}', of(id)))

/** Which entries of the audit log are shown; what is absent means all. */
export interface AuditFilter {
  event?: string | undefined
  outcome?: AuditEntry['outcome'] | undefined
  account?: string | undefined
}
export const listAudit = (filter: AuditFilter, cursor: string | null) =>
  dataOf(
    api.GET('/api/admin/audit', { params: { query: { ...filter, ...(cursor !== null && { cursor }) } } }),
  ).then(r => r.data)

export const listTools = () => dataOf(api.GET('/api/tools')).then(r => r.data.tools)
/** Switches a tool on or off for the person; answers all tools. */
export const chooseTool = (name: string, enabled: boolean) =>
  dataOf(api.PATCH('/api/tools/{name}', { params: { path: { name } }, body: { enabled } })).then(
    r => r.data.tools,
  )
