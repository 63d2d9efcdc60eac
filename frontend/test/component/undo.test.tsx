import { QueryClientProvider } from '@tanstack/react-query'
import { render, screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, expect, it, vi } from 'vitest'
import { queryClient } from '@/api/queries'
import UndoWork from '@/features/undo/UndoWork'
import { serve } from '../fetch'

afterEach(() => {
  vi.unstubAllGlobals()
  queryClient.clear()
})

function show(status: number, body: unknown) {
  const asked: string[] = []
  serve(({ path }) => {
    asked.push(path)
    return [status, body]
  })
  const onUndo = vi.fn()
  const dialog = <UndoWork open onOpenChange={() => {}} sessionId="s" work="w 1" onUndo={onUndo} />
  render(<QueryClientProvider client={queryClient}>{dialog}</QueryClientProvider>)
  return { asked, onUndo }
}
const undo = () => screen.getByRole<HTMLButtonElement>('button', { name: /^Undo \d/ })

it('each file shows what its undo would do, and later edits stay', async () => {
  const { asked, onUndo } = show(200, {
    files: [
      {
        path: 'memory/a.md',
        calls: ['c1', 'c3'],
        diff: '--- a\n+++ a\n@@ -1 +1 @@\n-new\n+old\n',
        added: 1,
        removed: 1,
      },
      { path: 'memory/b.md', calls: ['c2'], added: 0, removed: 0 },
    ],
  })
  const file = within(await screen.findByRole('region', { name: 'memory/a.md' }))
  expect(file.getByRole('group', { name: 'Changes to memory/a.md when undone' }).textContent).toContain('old')
  expect(screen.getByRole('region', { name: 'memory/b.md' }).textContent).toContain('It won’t be undone')
  expect(screen.getByText(/What was sent over the network stays/)).toBeTruthy()
  expect(asked).toEqual(['/api/sessions/s/works/w%201/undo'])
  expect(undo().textContent).toBe('Undo 2 changes')
  await userEvent.click(undo())
  expect(onUndo).toHaveBeenCalledWith(['c1', 'c3'])
})

it('nothing is undone while the conversation runs', async () => {
  show(409, { code: 'busy', message: 'this session is still working' })
  expect((await screen.findByText(/is running/)).getAttribute('role')).toBe('status')
  expect(undo().disabled).toBe(true)
})

it('the dialog says so if nothing is left to undo', async () => {
  show(200, { files: [{ path: 'memory/a.md', calls: [], added: 0, removed: 0 }] })
  await screen.findByText('Nothing to undo.')
  expect(undo().disabled).toBe(true)
})
