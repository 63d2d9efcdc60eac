import { act, fireEvent, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { keys, queryClient } from '@/api/queries'
import type { Approval } from '@/api/types'
import { useShortcuts } from '@/app/useShortcuts'
import Attention from '@/features/approvals/Attention'
import { useHeld } from '@/features/approvals/held'
import { NotifySwitch } from '@/features/approvals/NotifySwitch'
import { setNotify } from '@/features/approvals/notify'
import Waiting from '@/features/approvals/Waiting'
import { ToolChain } from '@/features/chat/ToolChain'
import type { Step } from '@/thread/model'
import { contextOf, Page } from '../commands'
import { serve } from '../fetch'
import { approval } from '../unit/approvals'

let visibility: DocumentVisibilityState = 'visible'
const see = (state: DocumentVisibilityState) =>
  act(() => {
    visibility = state
    document.dispatchEvent(new Event('visibilitychange'))
  })
/** The cache tells its readers in a task of its own. */
const put = (list: Approval[]) =>
  act(async () => {
    queryClient.setQueryData(keys.approvals, list)
    await new Promise(told => setTimeout(told))
  })

let sent: { path: string; body: unknown }[] = []
beforeEach(() => {
  vi.spyOn(document, 'visibilityState', 'get').mockImplementation(() => visibility)
  sent = []
  serve(({ method, path, body }) => {
    if (method === 'GET') return [200, { approvals: queryClient.getQueryData(keys.approvals) ?? [] }]
    sent.push({ path, body })
    return path.endsWith('/hold')
      ? [200, { expires_at: Date.now() / 1000 + 300 }]
      : [200, { decision: 'approved', scope: 'once' }]
  })
})
afterEach(() => {
  visibility = 'visible'
  queryClient.clear()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
  localStorage.clear()
})

const step = (over: Partial<Step>): Step => ({
  ...{ id: 'c1', tool: 'terminal', input: 'make', arguments: { command: 'make' }, output: '' },
  ...{ result: undefined, status: 'approval', durationMs: null, verdict: null, undone: false },
  ...over,
})

it('holds each pending call while the page is in view, and stops when it is hidden', async () => {
  queryClient.setQueryData(keys.approvals, [approval(), approval({ id: 'p2' })])
  const { unmount } = render(<Page>{<Attention />}</Page>)
  await waitFor(() => expect([...useHeld.getState().ids]).toEqual(['p1', 'p2']))
  expect(sent.map(({ path }) => path)).toEqual(['/api/approvals/p1/hold', '/api/approvals/p2/hold'])
  see('hidden')
  expect(useHeld.getState().ids.size).toBe(0)
  see('visible')
  await waitFor(() => expect(sent).toHaveLength(4))
  await waitFor(() => expect(useHeld.getState().ids.size).toBe(2))
  unmount()
  expect(useHeld.getState().ids.size).toBe(0)
})

it('holds again before the time is over', async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true })
  queryClient.setQueryData(keys.approvals, [approval()])
  render(<Page>{<Attention />}</Page>)
  await waitFor(() => expect(useHeld.getState().ids.size).toBe(1))
  await act(() => vi.advanceTimersByTimeAsync(21_000))
  expect(sent).toHaveLength(2)
  vi.useRealTimers()
})

it('says that time runs where the server cannot hold', async () => {
  serve(({ method }) => (method === 'GET' ? [200, { approvals: [] }] : [404, { code: 'not_found' }]))
  queryClient.setQueryData(keys.approvals, [approval()])
  render(<Page>{<Waiting workId="w1" steps={[step({})]} />}</Page>)
  render(<Page>{<Attention />}</Page>)
  expect(await screen.findByRole('timer')).toBeTruthy()
  expect(useHeld.getState().ids.size).toBe(0)
})

class Shown {
  static permission: NotificationPermission = 'default'
  static all: Shown[] = []
  static requestPermission = async () => {
    Shown.permission = 'granted'
    return Shown.permission
  }
  onclick: (() => void) | null = null
  constructor(
    readonly title: string,
    readonly options: NotificationOptions,
  ) {
    Shown.all.push(this)
  }
  close = vi.fn()
}

it('notifies only if it is switched on, only while hidden, and without the words of a model', async () => {
  vi.stubGlobal('Notification', Shown)
  vi.stubGlobal('isSecureContext', true)
  queryClient.setQueryData(keys.approvals, [])
  render(<Page>{<Attention />}</Page>)
  see('hidden')
  await put([approval({ id: 'a' })])
  expect(Shown.all).toEqual([])
  await act(() => setNotify(true))
  see('visible')
  await put([approval({ id: 'a' }), approval({ id: 'b' })])
  expect(Shown.all).toEqual([])
  see('hidden')
  await put([approval({ id: 'c', shown: { ...approval().shown, command: 'say secret' } })])
  expect(Shown.all.map(({ title, options }) => [title, options.body])).toEqual([
    ['miniclaw needs your approval', 'Run a command'],
  ])
  await put([])
  expect(Shown.all[0]?.close).toHaveBeenCalled()
})

it('asks for the permission when a person switches notifications on, and not before', async () => {
  Shown.permission = 'default'
  vi.stubGlobal('Notification', Shown)
  vi.stubGlobal('isSecureContext', true)
  await act(() => setNotify(false))
  const asked = vi.spyOn(Shown, 'requestPermission')
  render(<NotifySwitch />)
  const control = screen.getByRole('switch')
  expect([asked.mock.calls.length, control.getAttribute('aria-checked')]).toEqual([0, 'false'])
  await userEvent.click(control)
  expect([asked.mock.calls.length, control.getAttribute('aria-checked')]).toEqual([1, 'true'])
  await userEvent.click(control)
  expect(control.getAttribute('aria-checked')).toBe('false')
})

const two = () => [approval({ id: 'p2', call_id: 'c2', hash: 'two' }), approval()]
const steps = [step({}), step({ id: 'c2' }), step({ id: 'c3', status: 'running' })]

it('allows all calls of a step, each by its own request and hash, in the order of the calls', async () => {
  queryClient.setQueryData(keys.approvals, [...two(), approval({ id: 'px', work_id: 'other' })])
  render(<Page>{<Waiting workId="w1" steps={steps} />}</Page>)
  await userEvent.click(screen.getByRole('button', { name: /^Allow all 2 once/ }))
  await waitFor(() => expect(sent).toHaveLength(2))
  expect(sent).toEqual([
    { path: '/api/approvals/p1', body: { decision: 'approve', hash: 'abc' } },
    { path: '/api/approvals/p2', body: { decision: 'approve', hash: 'two' } },
  ])
  await waitFor(() => expect(screen.queryByRole('button', { name: /^Allow all/ })).toBeNull())
})

it('leaves a call open that is being edited', async () => {
  queryClient.setQueryData(keys.approvals, two())
  render(<Page>{<Waiting workId="w1" steps={steps} />}</Page>)
  await userEvent.click(screen.getAllByRole('button', { name: 'Edit…' })[0] as HTMLElement)
  await userEvent.click(screen.getByRole('button', { name: /^Allow all 2 once/ }))
  await waitFor(() => expect(sent.map(({ path }) => path)).toEqual(['/api/approvals/p2']))
})

it('offers no “allow all” for a single call', () => {
  queryClient.setQueryData(keys.approvals, [approval()])
  render(<Page>{<Waiting workId="w1" steps={steps} />}</Page>)
  expect(screen.queryByRole('button', { name: /^Allow all/ })).toBeNull()
})

it('a folded chain keeps the calls that did not run, with the reason', () => {
  const verdict = { decision: 'denied', scope: 'once', reason: 'too risky', changed: false } as const
  const all = [
    step({ id: 'a', status: 'done' }),
    step({ id: 'b', status: 'denied', verdict }),
    step({ id: 'c', status: 'denied', verdict: { ...verdict, decision: 'expired', reason: null } }),
    step({ id: 'd', status: 'cancelled', verdict: { ...verdict, decision: 'cancelled', reason: null } }),
    step({ id: 'e', status: 'denied' }),
  ]
  render(<Page>{<ToolChain id="folded" workId="w1" steps={all} running={false} writing={null} />}</Page>)
  const items = screen.getAllByRole('listitem').map(item => item.textContent)
  expect(items).toHaveLength(4)
  expect(items[0]).toContain('You denied this: too risky')
  expect(items[1]).toContain('Denied: the request expired')
  expect(items[2]).toContain('Canceled before it was answered')
  expect(items[3]).toContain('Denied by the approval policy')
})

it('Alt+C folds the open chains, and opens all if none is open', async () => {
  const chain = (id: string, running: boolean) => (
    <ToolChain id={id} workId="w1" steps={[step({ status: 'done' })]} running={running} writing={null} />
  )
  const Keys = () => {
    useShortcuts(contextOf('s1'))
    return null
  }
  const { container } = render(
    <Page>
      <Keys />
      {chain('past', false)}
      {chain('now', true)}
    </Page>,
  )
  const open = () => [...container.querySelectorAll('details.chain')].map(it => it.hasAttribute('open'))
  const press = async () => {
    fireEvent.keyDown(document.body, { code: 'KeyC', key: 'c', altKey: true })
    const before = open().join()
    await waitFor(() => expect(open().join()).not.toBe(before))
  }
  expect(open()).toEqual([false, true])
  await press()
  expect(open()).toEqual([false, false])
  await press()
  expect(open()).toEqual([true, true])
})
