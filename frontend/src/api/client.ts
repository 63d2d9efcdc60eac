/** The only place that calls `fetch`. A failed call is an `ApiError` whose `code` says what a caller may do about it. */

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
}

export async function call<T>(path: string, { method = 'GET', body, headers }: Call = {}): Promise<T> {
  const mutates = method !== 'GET'
  const response = await fetch(path, {
    method,
    headers: { ...(mutates ? { 'Content-Type': 'application/json' } : {}), ...headers },
    ...(mutates ? { body: JSON.stringify(body ?? {}) } : {}),
  }).catch((cause: unknown) => {
    throw new ApiError(0, { code: 'unreachable', message: String(cause) })
  })
  const parsed: unknown = await response.json().catch(() => ({}))
  if (!response.ok) throw new ApiError(response.status, (parsed ?? {}) as Record<string, unknown>)
  return parsed as T
}
