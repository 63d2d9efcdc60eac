import { afterEach, expect, it, vi } from 'vitest'
import { readDraft, setDraft } from '@/stores/drafts'

afterEach(() => localStorage.clear())

it('each conversation has its own draft, also in a page that is loaded again', async () => {
  setDraft('one', 'half a thought')
  setDraft('two', 'another')
  setDraft('two', '')
  vi.resetModules()
  const again = await import('@/stores/drafts')
  expect([again.readDraft('one'), again.readDraft('two'), again.readDraft(again.NEW)]).toEqual([
    ...['half a thought', '', ''],
  ])
  expect(readDraft('one')).toBe('half a thought')
})
