import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { getStatus, listApprovals, signIn } from '@/api/endpoints'
import { knock } from '@/api/entrance'
import { openEvents } from '@/api/events'
import { signedIn } from '@/api/signedOut'
import { store, stored } from '@/lib/storage'
import { serve } from '../fetch'

let asked: string[]
let status: number
let arrive: () => void

beforeEach(() => {
  asked = []
  status = 200
  store('letIn', null)
  const arrived = new Promise<void>(resolve => {
    arrive = resolve
  })
  serve(async ({ path }) => {
    asked.push(path)
    if (path === '/api/status') await arrived
    return [path === '/api/login' ? 200 : status, []]
  })
})
afterEach(() => {
  vi.unstubAllGlobals()
  signedIn()
  store('letIn', null)
})

it('a browser that is refused asks for nothing but the sign-in', async () => {
  status = 401
  const known = knock(getStatus)
  const approvals = listApprovals()
  approvals.catch(() => {})
  await vi.waitFor(() => expect(asked).toEqual(['/api/status']))
  arrive()
  await known
  await expect(approvals).rejects.toMatchObject({ status: 401, code: 'signed_out' })
  await expect(getStatus()).rejects.toMatchObject({ status: 401 })
  const opened = vi.fn()
  vi.stubGlobal('EventSource', opened)
  const stream = openEvents(null, { onNotice: () => {}, onRefused: () => {}, onState: () => {} })
  expect(opened).not.toHaveBeenCalled()
  stream.close()
  await signIn('tea')
  expect(asked).toEqual(['/api/status', '/api/login'])
})

it('a browser that was let in asks for everything at once, until it is refused', async () => {
  const known = knock(getStatus)
  const approvals = listApprovals()
  arrive()
  await Promise.all([known, approvals])
  expect(asked).toEqual(['/api/status', '/api/approvals'])
  expect(stored('letIn')).toBe('yes')
  const again = vi.fn(getStatus)
  await knock(again)
  expect(again).not.toHaveBeenCalled()
  status = 401
  await expect(listApprovals()).rejects.toMatchObject({ status: 401 })
  expect(stored('letIn')).toBeNull()
})

it('a server that does not answer keeps nothing waiting', async () => {
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('no network')))
  await knock(getStatus)
  await expect(listApprovals()).rejects.toMatchObject({ code: 'no_answer' })
})
