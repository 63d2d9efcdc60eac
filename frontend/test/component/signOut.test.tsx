import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { keys, queryClient } from '@/api/queries'
import { isSignedOut, signedIn } from '@/api/signedOut'
import { commandOf, isEnabled } from '@/app/commands'
import { followSignOut, signOut } from '@/features/auth/signOut'
import { openBuffer } from '@/features/editor/buffer'
import { t } from '@/lib/i18n'
import { store, stored } from '@/lib/storage'
import { useBuffers } from '@/stores/buffers'
import { useToasts } from '@/stores/toasts'
import { contextOf } from '../commands'
import { serve } from '../fetch'
import { file } from '../file'

const isOffered = () => isEnabled(commandOf('signOut'), contextOf())

beforeEach(() => {
  localStorage.clear()
  queryClient.clear()
})
afterEach(() => vi.restoreAllMocks())

it('sign-out is offered only if the server requires a token', () => {
  expect(isOffered()).toBe(false)
  queryClient.setQueryData(keys.status, { needs_token: false })
  expect(isOffered()).toBe(false)
  queryClient.setQueryData(keys.status, { needs_token: true })
  expect(isOffered()).toBe(true)
})

it('signing out clears personal data and reloads the page', async () => {
  const replaced = vi.spyOn(location, 'replace').mockImplementation(() => {})
  store('draft', 'a secret plan')
  store('theme', 'dark')
  const posted: string[] = []
  serve(({ method, path }) => {
    posted.push(`${method} ${path}`)
    return new Response(null, { status: 204 })
  })
  await signOut()
  expect(posted).toEqual(['POST /api/logout'])
  expect([stored('draft'), stored('theme')]).toEqual([null, 'dark'])
  expect(replaced).toHaveBeenCalledExactlyOnceWith('/')
})

it('a failed sign-out keeps everything', async () => {
  const replaced = vi.spyOn(location, 'replace').mockImplementation(() => {})
  store('draft', 'a secret plan')
  serve(() => Response.json({ code: 'internal', message: 'no' }, { status: 500 }))
  await signOut()
  expect(stored('draft')).toBe('a secret plan')
  expect(replaced).not.toHaveBeenCalled()
})

describe('other tabs', () => {
  /** The channel of another tab. */
  let other: BroadcastChannel
  let unfollow: () => void
  beforeEach(() => {
    other = new BroadcastChannel('miniclaw')
    unfollow = followSignOut()
  })
  afterEach(() => {
    other.close()
    unfollow()
    useBuffers.setState({ files: {} })
    signedIn()
  })
  const replaced = () => vi.spyOn(location, 'replace').mockImplementation(() => {})

  it('are told of a sign-out, but not of a failed one', async () => {
    replaced()
    const heard: unknown[] = []
    other.onmessage = ({ data }) => heard.push(data)
    serve(() => Response.json({ code: 'internal', message: 'no' }, { status: 500 }))
    await signOut()
    serve(() => new Response(null, { status: 204 }))
    await signOut()
    await vi.waitFor(() => expect(heard).toEqual(['signed out']))
  })

  it('load the page anew, and only for this message', async () => {
    const reloads = replaced()
    other.postMessage('something else')
    other.postMessage('signed out')
    await vi.waitFor(() => expect(reloads.mock.calls).toEqual([['/']]))
    expect(isSignedOut()).toBe(false)
  })

  it('keep unsaved text beneath the sign-in', async () => {
    const reloads = replaced()
    const buffer = { ...openBuffer(file('memory/a.md'), 'one', 'e1', 1), text: 'two' }
    useBuffers.setState({ files: { 'memory/a.md': { phase: 'open', buffer } } })
    other.postMessage('signed out')
    await vi.waitFor(() => expect(isSignedOut()).toBe(true))
    expect(reloads).not.toHaveBeenCalled()
    expect(useBuffers.getState().files['memory/a.md']).toMatchObject({ buffer: { text: 'two' } })
  })
})

it('unsaved text prevents signing out', async () => {
  const replaced = vi.spyOn(location, 'replace').mockImplementation(() => {})
  const posted: string[] = []
  serve(({ path }) => {
    posted.push(path)
    return new Response(null, { status: 204 })
  })
  const buffer = { ...openBuffer(file('memory/a.md'), 'one', 'e1', 1), text: 'two' }
  useBuffers.setState({ files: { 'memory/a.md': { phase: 'open', buffer } } })
  await signOut()
  useBuffers.setState({ files: {} })
  expect(useToasts.getState().list.at(-1)?.text).toBe(t('signOutUnsaved'))
  expect([posted, replaced.mock.calls]).toEqual([[], []])
})
