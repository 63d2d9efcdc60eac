import { afterEach, expect, it, vi } from 'vitest'
import {
  answerApproval,
  branchSession,
  createSession,
  deleteFile,
  getCompressionPlan,
  getHistory,
  interrupt,
  searchPassages,
  sendMessage,
  writeFile,
} from '@/api/endpoints'
import type { Approval } from '@/api/types'
import { type Asked, serve } from '../fetch'

afterEach(() => vi.unstubAllGlobals())

function recorded(): Asked[] {
  const asked: Asked[] = []
  serve(call => {
    asked.push(call)
    return [200, {}]
  })
  return asked
}

it('a change has a JSON body, and a read has none', async () => {
  const asked = recorded()
  await interrupt('s')
  await createSession(null)
  await branchSession('s', 'm', 'after')
  await deleteFile('workspace/a b.txt', null)
  await getHistory('s')
  expect(asked.map(({ method, body }) => [method, body])).toEqual([
    ['POST', {}],
    ['POST', {}],
    ['POST', { message_id: 'm', cut: 'after' }],
    ['DELETE', {}],
    ['GET', undefined],
  ])
  const types = asked.map(({ headers }) => headers.get('Content-Type'))
  expect(types).toEqual([...Array(4).fill('application/json'), null])
})

it('names are encoded in the path, and numbers in the query', async () => {
  const asked = recorded()
  await getHistory('a/b ?')
  await searchPassages('memory', 'tea & cake', 3)
  await deleteFile('skills/tea/ü.md', '"v1"')
  expect(asked.map(({ path }) => path)).toEqual([
    '/api/sessions/a%2Fb%20%3F/history',
    '/api/retrieval/search?query=tea%20%26%20cake&folder=memory&k=3&candidates=50',
    '/api/files?path=skills%2Ftea%2F%C3%BC.md',
  ])
  expect(asked[2]?.headers.get('If-Match')).toBe('"v1"')
})

it('a file is overwritten only in the named version', async () => {
  const asked = recorded()
  await writeFile('memory/a.md', 'text', 'absent')
  await writeFile('memory/a.md', 'text', { match: 'W/"v1"' })
  expect(asked.map(({ headers }) => [headers.get('If-None-Match'), headers.get('If-Match')])).toEqual([
    ['*', null],
    [null, '"v1"'],
  ])
})

it('a message carries its key, so that a resend counts once', async () => {
  const asked = recorded()
  await sendMessage('s', { message: 'Hi', attachments: [], idempotency_key: 'k1' })
  expect(asked[0]?.body).toEqual({ message: 'Hi', attachments: [], idempotency_key: 'k1' })
  expect(asked[0]?.headers.get('Idempotency-Key')).toBe('k1')
})

it('calls that only the page may make carry its secret, and others do not', async () => {
  const asked = recorded()
  await answerApproval({ id: 'a', hash: 'h' } as Approval, { decision: 'approve' })
  await interrupt('s')
  expect(asked.map(({ headers }) => headers.has('X-Miniclaw-Secret'))).toEqual([true, false])
  expect(asked[0]?.body).toEqual({ decision: 'approve', hash: 'h' })
})

it('a call can be cancelled', async () => {
  let signal: AbortSignal | undefined
  serve(({ request }) => {
    signal = request.signal
    return new Promise(() => {})
  })
  const aborter = new AbortController()
  void getCompressionPlan('s', aborter.signal)
  await vi.waitFor(() => expect(signal).toBeDefined())
  expect(signal?.aborted).toBe(false)
  aborter.abort()
  expect(signal?.aborted).toBe(true)
})

it('a refusal is an error with the code of the response, or the code of its status', async () => {
  serve(() => [409, { code: 'busy', message: 'It works.', etag: 'v2' }])
  await expect(interrupt('s')).rejects.toMatchObject({
    code: 'busy',
    status: 409,
    message: 'It works.',
    body: { etag: 'v2' },
  })
  serve(() => new Response('<h1>Bad gateway</h1>', { status: 502 }))
  await expect(interrupt('s')).rejects.toMatchObject({ code: 'http_502', status: 502 })
})

it('a refusal tells after how many seconds to try again', async () => {
  const answer = (header: string | null) =>
    serve(() =>
      Response.json(
        { code: 429 },
        { status: 429, headers: header === null ? {} : { 'Retry-After': header } },
      ),
    )
  for (const [header, retryAfter] of [
    ['12', 12],
    ['soon', null],
    [null, null],
  ] as const) {
    answer(header)
    await expect(interrupt('s')).rejects.toMatchObject({ status: 429, retryAfter })
  }
})
