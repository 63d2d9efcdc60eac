/**
 * The bodies of the endpoints for several people on one server, written by hand from the contract.
 * TO BE REPLACED by the generated types: when `schema.d.ts` has these paths, `people.ts` uses `api` and
 * `components['schemas']`, and this file is deleted.
 */

export interface AuthMode {
  auth_mode: 'single' | 'multi'
  registration: 'open' | 'invite' | 'closed'
  /** False until the first account, which becomes the administrator. */
  has_accounts: boolean
}

export type Role = 'admin' | 'user'

/** Times are ISO 8601, UTC. */
export interface Person {
  id: string
  username: string
  email: string | null
  avatar: string | null
  role: Role
  is_active: boolean
  created_at: string
  last_login_at: string | null
}

/** A person as an administrator sees them. */
export interface ListedPerson extends Person {
  sessions?: number
  last_active_at?: string | null
}

export interface NewPerson {
  username: string
  password: string
  email?: string
  invitation?: string
  /** The code that the server printed, for the first account from another machine. */
  setup_code?: string
}

export interface Credentials {
  username: string
  password: string
}

export interface ProfilePatch {
  username?: string
  email?: string | null
}

export interface AccessToken {
  id: string
  name: string
  created_at?: string
  expires_at?: string | null
  last_used_at?: string | null
}

/** The secret is told only once. */
export interface NewAccessToken {
  id: string
  name: string
  token: string
}

export interface Invitation {
  id: string
  created_at: string
  expires_at: string | null
  /** Who has registered with it. */
  used_by: string | null
}

/** The code is told only once. */
export interface NewInvitation {
  id: string
  code: string
  expires_at: string | null
}

interface Items<Item> {
  items: Item[]
}

interface Json<Body> {
  content: { 'application/json': Body }
}
interface Answering<Data> {
  responses: { 200: { headers: Record<string, unknown> } & Json<{ code: number; data: Data }> }
}
type None = { query?: never; header?: never; path?: never; cookie?: never }
interface Call<Data> extends Answering<Data> {
  parameters: None
  requestBody?: never
}
interface Sending<Data, Body> extends Answering<Data> {
  parameters: None
  requestBody: Json<Body>
}
interface SendingTo<Data, Body> extends Answering<Data> {
  parameters: { query?: never; header?: never; path: { id: string }; cookie?: never }
  requestBody: Json<Body>
}
interface CallOf<Data> extends Answering<Data> {
  parameters: { query?: never; header?: never; path: { id: string }; cookie?: never }
  requestBody?: never
}

export interface peoplePaths {
  '/api/auth/mode': { get: Call<AuthMode> }
  '/api/auth/register': { post: Sending<Person, NewPerson> }
  '/api/auth/login': { post: Sending<{ token: string; user: Person }, Credentials> }
  '/api/auth/logout': { post: Call<unknown> }
  '/api/auth/logout-everywhere': { post: Call<unknown> }
  '/api/auth/password': { post: Sending<unknown, { current_password: string; new_password: string }> }
  '/api/auth/profile': { get: Call<Person>; patch: Sending<Person, ProfilePatch> }
  '/api/auth/tokens': {
    get: Call<Items<AccessToken>>
    post: Sending<NewAccessToken, { name: string; expires_in_days?: number }>
  }
  '/api/auth/tokens/{id}': { delete: CallOf<unknown> }
  '/api/admin/people': { get: Call<Items<ListedPerson>> }
  '/api/admin/people/{id}': { patch: SendingTo<Person, { is_active?: boolean; role?: Role }> }
  '/api/admin/people/{id}/password': { post: CallOf<{ password: string }> }
  '/api/admin/invitations': { get: Call<Items<Invitation>>; post: Call<NewInvitation> }
  '/api/admin/invitations/{id}': { delete: CallOf<unknown> }
}
