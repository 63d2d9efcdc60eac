import { QueryClientProvider } from '@tanstack/react-query'
import { render, screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, expect, it, vi } from 'vitest'
import { queryClient } from '@/api/queries'
import { reapply, withdraw } from '@/app/withdraw'
import WithdrawWork from '@/features/withdraw/WithdrawWork'
import { useToasts } from '@/stores/toasts'
import { serve } from '../fetch'

afterEach(() => {
  vi.unstubAllGlobals()
  queryClient.clear()
  useToasts.setState({ list: [] })
})

const file = (path: string, effect: string, more = {}) => ({
  ...{ path, calls: ['c1'], added: 0, removed: 1, effect, changed_since: false },
  ...more,
})

function show(files: unknown[]) {
  serve(() => [200, { files }])
  const [onWithdraw, onOther] = [vi.fn(), vi.fn()]
  const dialog = (
    <WithdrawWork
      {...{ open: true, onOpenChange: () => {}, sessionId: 's', work: 'w', onWithdraw, onOther }}
    />
  )
  render(<QueryClientProvider client={queryClient}>{dialog}</QueryClientProvider>)
  return { onWithdraw, onOther }
}
const button = () => screen.getByRole<HTMLButtonElement>('button', { name: 'Withdraw' })

it('deletions come first, and each file says what becomes of it', async () => {
  const { onWithdraw } = show([file('memory/a.md', 'changed'), file('memory/b.md', 'deleted')])
  await screen.findByRole('region', { name: 'memory/a.md' })
  const regions = screen.getAllByRole('region').map(region => region.textContent)
  expect(regions).toEqual(['memory/b.mdwill be deleted', 'memory/a.mdgets its earlier content'])
  await userEvent.click(button())
  expect(onWithdraw).toHaveBeenCalledWith([])
})

it('a file in the way blocks the withdrawal until it is kept', async () => {
  const { onWithdraw, onOther } = show([
    file('memory/a.md', 'deleted', { changed_since: true }),
    file('memory/b.md', 'changed', { later_works: ['w2', 'w3'] }),
  ])
  const [a, b] = await Promise.all(
    ['memory/a.md', 'memory/b.md'].map(async name => within(await screen.findByRole('region', { name }))),
  )
  expect(button().disabled).toBe(true)
  expect(screen.getByRole('status').textContent).toContain('2 files are in the way')
  await userEvent.click(b?.getByRole('button', { name: 'Withdraw that response first' }) as HTMLElement)
  expect(onOther).toHaveBeenCalledWith('w3')
  await userEvent.click(a?.getByRole('checkbox') as HTMLElement)
  expect(button().disabled).toBe(true)
  await userEvent.click(b?.getByRole('checkbox') as HTMLElement)
  await userEvent.click(button())
  expect(onWithdraw).toHaveBeenCalledWith(['memory/a.md', 'memory/b.md'])
})

it('a response without changes of files can be withdrawn', async () => {
  show([])
  await screen.findByText('This response changed no files.')
  expect(button().disabled).toBe(false)
})

it('a withdrawal is undone from its notification', async () => {
  const asked: unknown[] = []
  serve(({ path, body }) => {
    asked.push([path, body])
    return [200, { work_id: 'w', files: [] }]
  })
  await withdraw('s', 'w', ['memory/a.md'])
  useToasts.getState().list.at(-1)?.action?.run()
  await vi.waitFor(() => expect(useToasts.getState().list.at(-1)?.text).toBe('Reapplied'))
  expect(asked).toEqual([
    ['/api/sessions/s/works/w/withdraw', { keep: ['memory/a.md'] }],
    ['/api/sessions/s/works/w/reapply', { keep: [] }],
  ])
})

it('files in the way of reapplying can be kept', async () => {
  const asked: unknown[] = []
  serve(({ body }) => {
    asked.push(body)
    return asked.length === 1
      ? [409, { code: 'files_changed', message: 'no', about: { files: 'memory/a.md\nmemory/b.md' } }]
      : [200, { work_id: 'w', files: [] }]
  })
  await reapply('s', 'w')
  useToasts.getState().list.at(-1)?.action?.run()
  await vi.waitFor(() => expect(useToasts.getState().list.at(-1)?.text).toBe('Reapplied'))
  expect(asked).toEqual([{ keep: [] }, { keep: ['memory/a.md', 'memory/b.md'] }])
})
