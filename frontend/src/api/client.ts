/**
 * The client of the server's API, typed by its OpenAPI document. A failed call throws an `ApiError`; callers branch
 * on its `code`.
 */
import createClient from 'openapi-fetch'
import { pageSecret, renewSecret } from '@/lib/secret'
import { FIRST, letIn, mayAsk, shutOut } from './entrance'
import { whenHomeIsThere } from './moving'
import type { paths } from './schema'
import { watchSession } from './signedOut'

export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly body: Record<string, unknown>
  /** Seconds after which the server accepts the call again; null if it did not say. */
  readonly retryAfter: number | null

  constructor(status: number, body: Record<string, unknown>, retryAfter: number | null = null) {
    super(typeof body.message === 'string' ? body.message : `HTTP ${status}`)
    this.name = 'ApiError'
    this.status = status
    // In the envelope of the conversations, `code` is the status and `reason` the code.
    const code = typeof body.code === 'number' ? body.reason : body.code
    this.code = typeof code === 'string' ? code : `http_${status}`
    this.body = body
    this.retryAfter = retryAfter
  }
}

/** Returns whether the error is a refusal with this code. */
export const hasCode = (error: unknown, code: string): error is ApiError =>
  error instanceof ApiError && error.code === code

/** The only place that calls `fetch`. */
const fetched = (request: Request | string, how?: RequestInit): Promise<Response> =>
  fetch(request, how).catch((cause: unknown) => {
    throw new ApiError(0, { code: 'no_answer', message: String(cause) })
  })

/** The calls of the sign-in: their 401 means a wrong token or password, not an ended session. */
const MAY_REFUSE = [
  '/api/login',
  '/api/auth/mode',
  '/api/auth/login',
  '/api/auth/proxy',
  '/api/auth/register',
  '/api/auth/password',
]

/** Codes of other refusals that end a session: the account was disabled, or the proxy names nobody who can be signed in. */
const ENDS: readonly unknown[] = ['disabled', 'bad_proxy_user']

/** Whether the browser is signed out, or its person cannot go on. */
async function endsSession(response: Response): Promise<boolean> {
  if (response.status !== 403 && response.status !== 400) return response.status === 401
  const body: { code?: unknown; reason?: unknown } | null = await response
    .clone()
    .json()
    .catch(() => null)
  return ENDS.includes(body?.code) || ENDS.includes(body?.reason)
}

/** What the server would answer, without asking it. */
const signedOut = () => Response.json({ code: 'signed_out', message: 'nobody is signed in' }, { status: 401 })

async function send(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  const isSignIn = MAY_REFUSE.includes(pathname)
  if (!isSignIn && !(await mayAsk(pathname))) return signedOut()
  const refused = watchSession()
  const response = await whenHomeIsThere(request, fetched)
  if (pathname === FIRST && response.ok) letIn()
  if (!isSignIn && (await endsSession(response))) {
    shutOut()
    refused()
  }
  return response
}

export const api = createClient<paths>({ fetch: send })

// The server accepts no change without a JSON body, because a form on another site could send one.
api.use({
  onRequest: ({ request }) =>
    request.method === 'GET' || request.headers.has('Content-Type')
      ? undefined
      : new Request(request, {
          body: '{}',
          headers: [...request.headers, ['Content-Type', 'application/json']],
        }),
})

interface Answered<Data> {
  data?: Data
  error?: unknown
  response: Response
}

/** Returns the response's data. Throws an `ApiError` if the server refused the call. */
export async function dataOf<Data>(call: Promise<Answered<Data>>): Promise<Data> {
  // A connection may also break within the body.
  const { data, error, response } = await call.catch((cause: unknown) => {
    throw cause instanceof TypeError ? new ApiError(0, { code: 'no_answer', message: String(cause) }) : cause
  })
  if (response.ok) return data as Data
  const body = typeof error === 'object' && error !== null ? { ...error } : {}
  throw new ApiError(response.status, body, secondsIn(response.headers.get('Retry-After')))
}

/** The header as seconds; a date is not expected of this server. */
const secondsIn = (header: string | null): number | null =>
  header !== null && /^\d+$/.test(header) ? Number(header) : null

/** The header that proves to the server that a call comes from its page. */
type PageHeader = { 'X-Miniclaw-Secret': string }

/**
 * Sends a call that only the page may make. If the server has restarted since the page was loaded, fetches the new
 * secret and retries once.
 */
export async function asPage<Data>(call: (header: PageHeader) => Promise<Answered<Data>>): Promise<Data> {
  const proven = () => dataOf(call({ 'X-Miniclaw-Secret': pageSecret() }))
  try {
    return await proven()
  } catch (error) {
    if (!hasCode(error, 'no_secret')) throw error
    renewSecret(await (await fetched('/', { cache: 'no-store' })).text())
    return proven()
  }
}
