import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { keys, queryClient } from '@/api/queries'
import { commandOf, isEnabled } from '@/app/commands'
import { signOut } from '@/features/auth/signOut'
import { openBuffer } from '@/features/editor/buffer'
import { t } from '@/lib/i18n'
import { store, stored } from '@/lib/storage'
import { useBuffers } from '@/stores/buffers'
import { useToasts } from '@/stores/toasts'
import { serve } from '../fetch'
import { file } from '../file'

const context = { sessionId: null, width: 'wide', input: { current: null }, navigate: () => {} } as const
const isOffered = () => isEnabled(commandOf('signOut'), context)

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
