/**
 * The client of the server's API, typed by its OpenAPI document. A failed call throws an `ApiError`; callers branch
 * on its `code`.
 */
import createClient from 'openapi-fetch'
import { pageSecret, renewSecret } from '@/lib/secret'
import type { paths } from './schema'
import { watchSession } from './signedOut'

export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly body: Record<string, unknown>

  constructor(status: number, body: Record<string, unknown>) {
    super(typeof body.message === 'string' ? body.message : `HTTP ${status}`)
    this.name = 'ApiError'
    this.status = status
    // In the envelope of the conversations, `code` is the status and `reason` the code.
    const code = typeof body.code === 'number' ? body.reason : body.code
    this.code = typeof code === 'string' ? code : `http_${status}`
    this.body = body
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

async function send(request: Request): Promise<Response> {
  const refused = watchSession()
  const response = await fetched(request)
  // A 401 from the sign-in endpoint means a wrong token, not an ended session.
  if (response.status === 401 && new URL(request.url).pathname !== '/api/login') refused()
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
  throw new ApiError(response.status, typeof error === 'object' && error !== null ? { ...error } : {})
}

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
