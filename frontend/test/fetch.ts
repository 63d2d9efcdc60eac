import { vi } from 'vitest'

/** A request of the page to its server. */
export interface Asked {
  method: string
  /** Including the query string. */
  path: string
  headers: Headers
  /** The JSON body; undefined if there was none. */
  body: unknown
  request: Request
}

type Answer = Response | readonly [status: number, body: unknown]

/** Responds to all calls in place of the server, until `vi.unstubAllGlobals()`. */
export function serve(answer: (asked: Asked) => Answer | Promise<Answer>): void {
  vi.stubGlobal('fetch', async (input: Request | string, init?: RequestInit) => {
    const request = typeof input === 'string' ? new Request(new URL(input, location.href), init) : input
    const { pathname, search } = new URL(request.url)
    const sent = await request.clone().text()
    const given = await answer({
      method: request.method,
      path: `${pathname}${search}`,
      headers: request.headers,
      body: sent === '' ? undefined : JSON.parse(sent),
      request,
    })
    if (given instanceof Response) return given
    const [status, body] = given
    return new Response(JSON.stringify(body), { status })
  })
}
