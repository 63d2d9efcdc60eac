import { afterEach, expect, test, vi } from 'vitest'
import { clearTaint } from '@/api/endpoints'
import { serve } from '../fetch'

const page = (secret: string) => `<html><head><meta name="miniclaw-secret" content="${secret}"></head></html>`

afterEach(() => vi.unstubAllGlobals())

test('an open page takes the secret of a restarted server once', async () => {
  let right = 'second'
  const asked: string[] = []
  serve(({ path, headers }) => {
    if (path === '/') {
      asked.push('page')
      return new Response(page('second'))
    }
    const given = headers.get('X-Miniclaw-Secret') ?? ''
    asked.push(given)
    return given === right ? [200, { cleared: true }] : [403, { code: 'no_secret', message: 'no' }]
  })
  expect(await clearTaint('x')).toEqual({ cleared: true })
  expect(asked).toEqual(['', 'page', 'second'])
  right = 'third'
  await expect(clearTaint('x')).rejects.toThrow('no')
  expect(asked.slice(3)).toEqual(['second', 'page', 'second'])
})
