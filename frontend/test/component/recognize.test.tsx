import { beforeEach, expect, it } from 'vitest'
import { isMulti, peopleKeys } from '@/api/multi'
import { queryClient } from '@/api/queries'
import { recognizePerson } from '@/features/auth/recognize'
import { openBuffer } from '@/features/editor/buffer'
import { stored } from '@/lib/storage'
import { useBuffers } from '@/stores/buffers'
import { serve } from '../fetch'
import { file } from '../file'

beforeEach(() => {
  localStorage.clear()
  queryClient.clear()
  // Unsaved text keeps the page from being loaded anew, which jsdom cannot do.
  const a = file('workspace/a.md')
  const buffer = { ...openBuffer(a, 'one', '"1"', 1), text: 'two', state: { kind: 'dirty' as const } }
  useBuffers.setState({ files: { [`${a}`]: { phase: 'open', buffer } } })
})

it('a page without a person finds whose session the browser has', async () => {
  serve(({ path }) =>
    path === '/api/auth/mode'
      ? [200, { code: 0, data: { auth_mode: 'multi', registration: 'invite', has_accounts: true } }]
      : [200, { code: 0, data: { id: 'p-bob', username: 'bob', role: 'user' } }],
  )
  await recognizePerson()
  expect(stored('person')).toBe('p-bob')
  expect(isMulti()).toBe(true)
  expect(queryClient.getQueryData(peopleKeys.profile)).toMatchObject({ username: 'bob' })
})

it('a server for one person stays so', async () => {
  serve(() => [200, { code: 0, data: { auth_mode: 'single', registration: 'closed', has_accounts: false } }])
  await recognizePerson()
  expect(stored('person')).toBe(null)
  expect(isMulti()).toBe(false)
})
