/** The only place that calls `fetch`. A failed call is an `ApiError` whose `code` says what a caller may do about it. */

import { pageSecret, renewSecret } from '@/lib/secret'
import { watchSession } from './signedOut'

/** A refusal there is about what was typed. */
const LOGIN = '/api/login'

export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly body: Record<string, unknown>

  constructor(status: number, body: Record<string, unknown>) {
    super(typeof body.message === 'string' ? body.message : `HTTP ${status}`)
    this.name = 'ApiError'
    this.status = status
    this.code = typeof body.code === 'string' ? body.code : `http_${status}`
    this.body = body
  }
}

/** The server did not answer at all: it is stopped, or the network is gone. */
export const isUnreachable = (error: unknown): boolean => error instanceof ApiError && error.status === 0

interface Call {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  body?: unknown
  headers?: Record<string, string>
  /** Calls it off. */
  signal?: AbortSignal
}

const fetched = (path: string, how: RequestInit): Promise<Response> =>
  fetch(path, how).catch((cause: unknown) => {
    throw new ApiError(0, { code: 'unreachable', message: String(cause) })
  })

export async function call<T>(
  path: string,
  { method = 'GET', body, headers, signal }: Call = {},
): Promise<T> {
  const mutates = method !== 'GET'
  const refused = watchSession()
  const response = await fetched(path, {
    method,
    ...(signal ? { signal } : {}),
    headers: { ...(mutates ? { 'Content-Type': 'application/json' } : {}), ...headers },
    ...(mutates ? { body: JSON.stringify(body ?? {}) } : {}),
  })
  if (response.status === 401 && path !== LOGIN) refused()
  const parsed: unknown = await response.json().catch(() => ({}))
  if (!response.ok) throw new ApiError(response.status, (parsed ?? {}) as Record<string, unknown>)
  return parsed as T
}

/** A call that only the page may make. An open page outlives its server: then it takes the new one's secret. */
export async function callAsPage<T>(path: string, how: Call): Promise<T> {
  const proven = () =>
    call<T>(path, { ...how, headers: { ...how.headers, 'X-Miniclaw-Secret': pageSecret() } })
  try {
    return await proven()
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'no_secret')) throw error
    renewSecret(await (await fetched('/', { cache: 'no-store' })).text())
    return proven()
  }
}
