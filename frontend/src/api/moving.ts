/**
 * A home can move from one server of a cluster to another. Until it is there, calls are refused with `home_moving`: nothing of
 * them was done, so they are sent again. A call that the home has left behind is refused with `fenced`: it may have begun, so it
 * is sent again only if doing it twice is the same as once.
 */

/** Milliseconds. A server that froze is replaced after 14 seconds. */
const LONGEST = 30_000
/** Milliseconds between two attempts, if the server does not say. */
const PAUSE = 1000
const BODILESS = ['GET', 'HEAD']
const IDEMPOTENT = [...BODILESS, 'PUT', 'DELETE']

/** Sends a call, again and again while the home moves. */
export async function whenHomeIsThere(
  request: Request,
  send: (request: Request) => Promise<Response>,
): Promise<Response> {
  const until = Date.now() + LONGEST
  // The body of a request can be sent once.
  const body = BODILESS.includes(request.method) ? undefined : await request.clone().arrayBuffer()
  for (;;) {
    const response = await send(new Request(request.clone(), body?.byteLength ? { body } : {}))
    if (!(await isWorthAnother(request, response)) || Date.now() >= until || request.signal.aborted)
      return response
    const seconds = Number(response.headers.get('Retry-After') ?? '')
    await new Promise(resolve => setTimeout(resolve, seconds > 0 ? seconds * 1000 : PAUSE))
  }
}

async function isWorthAnother(request: Request, response: Response): Promise<boolean> {
  if (response.status !== 503) return false
  const body: { code?: unknown; reason?: unknown } | null = await response
    .clone()
    .json()
    .catch(() => null)
  const says = (code: string) => body?.code === code || body?.reason === code
  return says('home_moving') || (says('fenced') && isIdempotent(request))
}

const isIdempotent = ({ method, headers }: Request) =>
  IDEMPOTENT.includes(method) || headers.has('Idempotency-Key')
