import { afterEach, expect, test, vi } from 'vitest'
import { callAsPage } from '@/api/client'

const page = (secret: string) => `<html><head><meta name="miniclaw-secret" content="${secret}"></head></html>`

afterEach(() => vi.unstubAllGlobals())

test('an open page takes the secret of a server that was started anew, once', async () => {
  let right = 'second'
  const asked: string[] = []
  vi.stubGlobal('fetch', async (path: string, how: RequestInit) => {
    if (path === '/') {
      asked.push('page')
      return new Response(page('second'))
    }
    const given = (how.headers as Record<string, string>)['X-Miniclaw-Secret'] ?? ''
    asked.push(given)
    const body = given === right ? { decision: 'approved' } : { code: 'no_secret', message: 'no' }
    return new Response(JSON.stringify(body), { status: given === right ? 200 : 403 })
  })
  expect(await callAsPage('/api/approvals/x', { method: 'POST' })).toEqual({ decision: 'approved' })
  expect(asked).toEqual(['', 'page', 'second'])
  right = 'third'
  await expect(callAsPage('/api/approvals/x', { method: 'POST' })).rejects.toThrow('no')
  expect(asked.slice(3)).toEqual(['second', 'page', 'second'])
})
