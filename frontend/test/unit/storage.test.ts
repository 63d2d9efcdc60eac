import { afterEach, expect, it, vi } from 'vitest'
import { migrateStorage, store, stored } from '@/lib/storage'

afterEach(() => localStorage.clear())

it('personal data is stored under the person, and the theme for the browser', () => {
  store('draft.s1', 'hello')
  store('theme', 'dark')
  expect({ ...localStorage }).toEqual({ 'mc:owner:draft.s1': 'hello', 'mc.theme': 'dark' })
  store('draft.s1', null)
  expect(stored('draft.s1')).toBeNull()
  expect(stored('theme')).toBe('dark')
})

it('values stored before keys belonged to a person are kept', () => {
  localStorage.setItem('mc.draft.s1', 'typed')
  localStorage.setItem('mc.left', '300')
  localStorage.setItem('mc.lang', 'zh')
  localStorage.setItem('other', 'stays')
  migrateStorage()
  expect(stored('draft.s1')).toBe('typed')
  expect(stored('left')).toBe('300')
  expect({ ...localStorage }).toEqual({
    'mc:owner:draft.s1': 'typed',
    'mc:owner:left': '300',
    'mc.lang': 'zh',
    other: 'stays',
  })
})

it('each person of a browser has their own data', async () => {
  const pageOf = async (id: string) => {
    localStorage.setItem('mc.person', id)
    vi.resetModules()
    return import('@/lib/storage')
  }
  const ann = await pageOf('ann')
  ann.store('draft.s1', 'of Ann')
  // The page of a person stays theirs when somebody else signs in.
  ann.rememberPerson('bob')
  expect([ann.personOfPage, ann.stored('draft.s1')]).toEqual(['ann', 'of Ann'])
  const bob = await pageOf('bob')
  expect(bob.stored('draft.s1')).toBeNull()
  bob.store('draft.s1', 'of Bob')
  bob.clearPersonalStorage()
  expect({ ...localStorage }).toEqual({ 'mc.person': 'bob', 'mc:ann:draft.s1': 'of Ann' })
})
