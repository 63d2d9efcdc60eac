import { renderHook } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { getStatus, signIn } from '@/api/endpoints'
import { openEvents } from '@/api/events'
import { signedIn, useSignedOut } from '@/api/signedOut'

const isSignedOut = () => renderHook(() => useSignedOut()).result.current

afterEach(() => {
  vi.unstubAllGlobals()
  signedIn()
})

const answer = (status: number) => new Response('{"code":"signed_out","message":"no"}', { status })

it('a 401 of any call shows the sign-in until a person signs in', async () => {
  vi.stubGlobal('fetch', async () => answer(401))
  await expect(getStatus()).rejects.toMatchObject({ status: 401 })
  expect(isSignedOut()).toBe(true)
  signedIn()
  expect(isSignedOut()).toBe(false)
})

it('other refusals and a wrong token do not show the sign-in', async () => {
  vi.stubGlobal('fetch', async () => answer(403))
  await expect(getStatus()).rejects.toThrow()
  vi.stubGlobal('fetch', async () => answer(401))
  await expect(signIn('wrong')).rejects.toThrow()
  expect(isSignedOut()).toBe(false)
})

it('an account that was disabled shows the sign-in', async () => {
  for (const body of [{ code: 403, reason: 'disabled' }, { code: 'disabled' }]) {
    signedIn()
    vi.stubGlobal('fetch', async () => Response.json(body, { status: 403 }))
    await expect(getStatus()).rejects.toMatchObject({ code: 'disabled' })
    expect(isSignedOut()).toBe(true)
  }
})

it('a 401 of a call from before the sign-in is ignored', async () => {
  const waiting: ((answer: Response) => void)[] = []
  vi.stubGlobal('fetch', () => new Promise<Response>(resolve => waiting.push(resolve)))
  const asked = getStatus()
  await vi.waitFor(() => expect(waiting).toHaveLength(1))
  signedIn()
  waiting[0]?.(answer(401))
  await expect(asked).rejects.toThrow()
  expect(isSignedOut()).toBe(false)
})

it('a refused event stream is reported, and an interrupted one is not', () => {
  const sources: FakeSource[] = []
  class FakeSource {
    static CONNECTING = 0
    static OPEN = 1
    static CLOSED = 2
    readyState = 0
    onerror = () => {}
    constructor() {
      sources.push(this)
    }
    addEventListener() {}
    close() {}
  }
  vi.stubGlobal('EventSource', FakeSource)
  const onRefused = vi.fn()
  const stream = openEvents(null, { onNotice: () => {}, onState: () => {}, onRefused })
  sources[0]?.onerror()
  expect(onRefused).not.toHaveBeenCalled()
  stream.reconnect()
  Object.assign(sources[1] ?? {}, { readyState: FakeSource.CLOSED })
  sources[1]?.onerror()
  expect(onRefused).toHaveBeenCalledTimes(1)
  stream.close()
})
